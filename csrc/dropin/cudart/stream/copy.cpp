// csrc/dropin/cudart/stream/copy.cpp - copies of consecutive bytes, also from and to variables.
#include "dropin/cudart/copy.hpp"
#include "dropin/cudart/cudart.hpp"
#include "dropin/cudart/registry.hpp"

namespace cupola::cudart {
namespace {

cudaError_t copy_bytes(const Driver& d, void* to, const void* from, std::size_t count,
                       cudaMemcpyKind kind) {
    if (count == 0) return cudaSuccess;
    switch (kind) {
        case cudaMemcpyHostToDevice:
            return result_of(d.MemcpyHtoD(device_address(to), from, count));
        case cudaMemcpyDeviceToHost:
            return result_of(d.MemcpyDtoH(to, device_address(from), count));
        case cudaMemcpyDeviceToDevice:
            return result_of(d.MemcpyDtoD(device_address(to), device_address(from), count));
        case cudaMemcpyHostToHost:
        case cudaMemcpyDefault:
            return result_of(d.Memcpy(device_address(to), device_address(from), count));
    }
    return cudaErrorInvalidMemcpyDirection;
}

cudaError_t copy_bytes(const Driver& d, void* to, const void* from, std::size_t count,
                       cudaMemcpyKind kind, cudaStream_t stream) {
    if (count == 0) return cudaSuccess;
    switch (kind) {
        case cudaMemcpyHostToDevice:
            return result_of(d.MemcpyHtoDAsync(device_address(to), from, count, stream));
        case cudaMemcpyDeviceToHost:
            return result_of(d.MemcpyDtoHAsync(to, device_address(from), count, stream));
        case cudaMemcpyDeviceToDevice:
            return result_of(
                d.MemcpyDtoDAsync(device_address(to), device_address(from), count, stream));
        case cudaMemcpyHostToHost:
        case cudaMemcpyDefault:
            return result_of(
                d.MemcpyAsync(device_address(to), device_address(from), count, stream));
    }
    return cudaErrorInvalidMemcpyDirection;
}

// Part of a variable, which is on the device.
cudaError_t find_part(const void* symbol, std::size_t offset, std::size_t count, void*& part) {
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    if (const cudaError_t error = Registry::get().find_variable(symbol, address, bytes);
        error != cudaSuccess)
        return error;
    const bool fits = count == 0 || (offset <= bytes && count <= bytes - offset);
    if (!fits) return cudaErrorInvalidValue;
    part = reinterpret_cast<void*>(address + offset);
    return cudaSuccess;
}

// `more` is a stream, or nothing for synchronous copies.
template <class... More>
cudaError_t copy_to_symbol(const Driver& d, const void* symbol, const void* from, std::size_t count,
                           std::size_t offset, cudaMemcpyKind kind, More... more) {
    void* to = nullptr;
    if (const cudaError_t error = find_part(symbol, offset, count, to); error != cudaSuccess)
        return error;
    if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice &&
        kind != cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    return copy_bytes(d, to, from, count, kind, more...);
}

template <class... More>
cudaError_t copy_from_symbol(const Driver& d, void* to, const void* symbol, std::size_t count,
                             std::size_t offset, cudaMemcpyKind kind, More... more) {
    void* from = nullptr;
    if (const cudaError_t error = find_part(symbol, offset, count, from); error != cudaSuccess)
        return error;
    if (kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice &&
        kind != cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    return copy_bytes(d, to, from, count, kind, more...);
}

}  // namespace
}  // namespace cupola::cudart

using namespace cupola::cudart;

CUPOLA_CUDART cudaError_t cudaMemcpy(void* to, const void* from, size_t count,
                                     cudaMemcpyKind kind) {
    return entry([&](const Driver& d) { return copy_bytes(d, to, from, count, kind); });
}

CUPOLA_CUDART cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t count,
                                          cudaMemcpyKind kind, cudaStream_t stream) {
    return entry([&](const Driver& d) { return copy_bytes(d, to, from, count, kind, stream); });
}

CUPOLA_CUDART cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t count,
                                             size_t offset, cudaMemcpyKind kind) {
    return entry(
        [&](const Driver& d) { return copy_to_symbol(d, symbol, from, count, offset, kind); });
}

CUPOLA_CUDART cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from,
                                                  size_t count, size_t offset, cudaMemcpyKind kind,
                                                  cudaStream_t stream) {
    return entry([&](const Driver& d) {
        return copy_to_symbol(d, symbol, from, count, offset, kind, stream);
    });
}

CUPOLA_CUDART cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t count,
                                               size_t offset, cudaMemcpyKind kind) {
    return entry(
        [&](const Driver& d) { return copy_from_symbol(d, to, symbol, count, offset, kind); });
}

CUPOLA_CUDART cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t count,
                                                    size_t offset, cudaMemcpyKind kind,
                                                    cudaStream_t stream) {
    return entry([&](const Driver& d) {
        return copy_from_symbol(d, to, symbol, count, offset, kind, stream);
    });
}
