// csrc/dropin/cudart/external.cpp - memory and semaphores of other interfaces.
//
// Version 13's structures are longer than version 12's at their end, so fields are copied one by
// one. Signals and waits are in stream/versions/memory.cpp.
#include "dropin/cudart/channel.hpp"
#include "dropin/cudart/cudart.hpp"

#include <cstring>

namespace cupola::cudart {
namespace {

CUexternalMemory driver_memory(cudaExternalMemory_t memory) {
    return reinterpret_cast<CUexternalMemory>(memory);
}
CUexternalSemaphore driver_semaphore(cudaExternalSemaphore_t semaphore) {
    return reinterpret_cast<CUexternalSemaphore>(semaphore);
}

// The union of a descriptor, file descriptor or not, has the same two words in both interfaces.
template <class Given, class Made>
void copy_handle(const Given& given, Made& made) {
    static_assert(sizeof given.handle == sizeof made.handle);
    std::memcpy(&made.handle, &given.handle, sizeof made.handle);
}

}  // namespace
}  // namespace cupola::cudart

using namespace cupola::cudart;

CUPOLA_CUDART cudaError_t cudaImportExternalMemory(cudaExternalMemory_t* memory,
                                                   const cudaExternalMemoryHandleDesc* given) {
    return entry([&](const Driver& d) {
        if (!memory || !given) return CUDA_ERROR_INVALID_VALUE;
        CUDA_EXTERNAL_MEMORY_HANDLE_DESC made{};
        made.type = static_cast<CUexternalMemoryHandleType>(given->type);
        copy_handle(*given, made);
        made.size = given->size;
        made.flags = given->flags;
        return d.ImportExternalMemory(reinterpret_cast<CUexternalMemory*>(memory), &made);
    });
}

CUPOLA_CUDART cudaError_t cudaExternalMemoryGetMappedBuffer(
    void** pointer, cudaExternalMemory_t memory, const cudaExternalMemoryBufferDesc* given) {
    return entry([&](const Driver& d) {
        if (!pointer || !memory || !given) return CUDA_ERROR_INVALID_VALUE;
        CUDA_EXTERNAL_MEMORY_BUFFER_DESC made{};
        made.offset = given->offset;
        made.size = given->size;
        made.flags = given->flags;
        return d.ExternalMemoryGetMappedBuffer(address_result(pointer), driver_memory(memory),
                                               &made);
    });
}

CUPOLA_CUDART cudaError_t
cudaExternalMemoryGetMappedMipmappedArray(cudaMipmappedArray_t* mipmap, cudaExternalMemory_t memory,
                                          const cudaExternalMemoryMipmappedArrayDesc* given) {
    return entry([&](const Driver& d) {
        if (!mipmap || !memory || !given) return cudaErrorInvalidValue;
        ElementFormat format{};
        if (const cudaError_t error = format_of(given->formatDesc, format); error != cudaSuccess)
            return error;
        CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC made{};
        made.offset = given->offset;
        made.arrayDesc = {given->extent.width, given->extent.height, given->extent.depth,
                          format.format,       format.channels,      given->flags};
        made.numLevels = given->numLevels;
        return result_of(d.ExternalMemoryGetMappedMipmappedArray(
            reinterpret_cast<CUmipmappedArray*>(mipmap), driver_memory(memory), &made));
    });
}

CUPOLA_CUDART cudaError_t cudaDestroyExternalMemory(cudaExternalMemory_t memory) {
    return entry([&](const Driver& d) {
        return memory ? d.DestroyExternalMemory(driver_memory(memory)) : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaImportExternalSemaphore(
    cudaExternalSemaphore_t* semaphore, const cudaExternalSemaphoreHandleDesc* given) {
    return entry([&](const Driver& d) {
        if (!semaphore || !given) return CUDA_ERROR_INVALID_VALUE;
        CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC made{};
        made.type = static_cast<CUexternalSemaphoreHandleType>(given->type);
        copy_handle(*given, made);
        made.flags = given->flags;
        return d.ImportExternalSemaphore(reinterpret_cast<CUexternalSemaphore*>(semaphore), &made);
    });
}

CUPOLA_CUDART cudaError_t cudaDestroyExternalSemaphore(cudaExternalSemaphore_t semaphore) {
    return entry([&](const Driver& d) {
        return semaphore ? d.DestroyExternalSemaphore(driver_semaphore(semaphore))
                         : CUDA_ERROR_INVALID_VALUE;
    });
}
