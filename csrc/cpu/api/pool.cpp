// csrc/cpu/api/pool.cpp - cu* entry points: memory pools and stream-ordered allocation.
#include "cpu/pool.hpp"

#include "cpu/capture.hpp"
#include "cpu/context.hpp"
#include "cpu/driver.hpp"
#include "cpu/stream.hpp"

using namespace cupola::cpu;

namespace {

std::shared_ptr<Pool> pool_of(CUmemoryPool handle) {
    return Driver::get().pools.get(handle, CUDA_ERROR_INVALID_VALUE);
}

}  // namespace

CUPOLA_API CUresult cuMemAllocAsync(CUdeviceptr* out, size_t bytes, CUstream handle) {
    return entry([&] {
        require(out);
        const auto stream = Stream::from(handle);
        require(!Capture::of(*stream), CUDA_ERROR_NOT_SUPPORTED);  // it would be a node
        *out = 0;
        if (bytes == 0) return CUDA_SUCCESS;  // nothing, at the null address, as on hardware
        *out = stream->context_pointer()->device().pool()->allocate(*stream, bytes);
        return CUDA_SUCCESS;
    });
}
CUPOLA_API CUresult cuMemAllocAsync_ptsz(CUdeviceptr* out, size_t bytes, CUstream stream) {
    return cuMemAllocAsync(out, bytes, Stream::per_thread(stream));
}

CUPOLA_API CUresult cuMemAllocFromPoolAsync(CUdeviceptr* out, size_t bytes, CUmemoryPool pool,
                                            CUstream handle) {
    return entry([&] {
        require(out);
        const auto stream = Stream::from(handle);
        require(!Capture::of(*stream), CUDA_ERROR_NOT_SUPPORTED);  // it would be a node
        const auto from = pool_of(pool);
        *out = 0;
        if (bytes == 0) return CUDA_SUCCESS;
        *out = from->allocate(*stream, bytes);
        return CUDA_SUCCESS;
    });
}
CUPOLA_API CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr* out, size_t bytes, CUmemoryPool pool,
                                                 CUstream stream) {
    return cuMemAllocFromPoolAsync(out, bytes, pool, Stream::per_thread(stream));
}

// Also takes what cuMemAlloc gave, which is then freed when the stream comes to it.
CUPOLA_API CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
    return entry([&] {
        const auto stream = Stream::from(handle);
        require(!Capture::of(*stream), CUDA_ERROR_NOT_SUPPORTED);  // it would be a node
        if (address == 0) return CUDA_SUCCESS;
        Driver& driver = Driver::get();
        const auto found = driver.memory.at(address);
        require(found && found->begin == address && !found->on_host() && !found->module &&
                found->kind != Allocation::Kind::imported);
        if (found->kind == Allocation::Kind::pool) {
            const_cast<Pool*>(found->pool)->free_on(*stream, address);
            return CUDA_SUCCESS;
        }
        stream->submit(task([id = found->id, address](CUresult) {
            Driver& then = Driver::get();
            const auto now = then.memory.at(address);
            if (now && now->id == id) then.memory.release(address, then.budget(*now));
        }));
        return CUDA_SUCCESS;
    });
}
CUPOLA_API CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream) {
    return cuMemFreeAsync(address, Stream::per_thread(stream));
}

CUPOLA_API CUresult cuMemPoolCreate(CUmemoryPool* out, const CUmemPoolProps* properties) {
    return entry([&] {
        require(out && properties);
        require(properties->allocType == CU_MEM_ALLOCATION_TYPE_PINNED);
        require(properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_NOT_SUPPORTED);
        require(properties->handleTypes == CU_MEM_HANDLE_TYPE_NONE, CUDA_ERROR_NOT_SUPPORTED);
        Device& device = Driver::get().device(properties->location.id);
        *out = Pool::make(device, properties->maxSize, false)->handle();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuMemPoolDestroy(CUmemoryPool handle) {
    return entry([&] {
        auto pool = pool_of(handle);
        require(!pool->is_default());
        require(Driver::get().pools.remove(handle) != nullptr);
        if (pool->device().pool() == pool) pool->device().set_pool(pool->device().default_pool());
        pool->retire();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) {
    return entry([&] {
        pool_of(pool)->trim(keep);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute,
                                          void* value) {
    return entry([&] {
        require(value);
        pool_of(pool)->get(attribute, value);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute,
                                          void* value) {
    return entry([&] {
        require(value);
        pool_of(pool)->set(attribute, value);
        return CUDA_SUCCESS;
    });
}

// All devices are one host memory: every device reads and writes every pool, whatever is set.

CUPOLA_API CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* access,
                                       size_t count) {
    return entry([&] {
        const auto which = pool_of(pool);
        require(access && count);
        for (size_t i = 0; i < count; ++i) {
            require(access[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE);
            const Device& device = Driver::get().device(access[i].location.id);
            require(access[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READ);
            require(&device != &which->device() ||
                    access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
        }
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool pool,
                                       CUmemLocation* location) {
    return entry([&] {
        pool_of(pool);
        require(flags && location && location->type == CU_MEM_LOCATION_TYPE_DEVICE);
        Driver::get().device(location->id);
        *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuMemPoolExportToShareableHandle(void*, CUmemoryPool pool,
                                                     CUmemAllocationHandleType,
                                                     unsigned long long) {
    return entry([&] {
        pool_of(pool);
        return CUDA_ERROR_NOT_SUPPORTED;
    });
}
