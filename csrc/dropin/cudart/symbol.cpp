// csrc/dropin/cudart/symbol.cpp - the program's own variables of the device.
#include "dropin/cudart/cudart.hpp"
#include "dropin/cudart/registry.hpp"

using namespace cupola::cudart;

CUPOLA_CUDART cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol) {
    return entry([&](const Driver&) {
        if (!pointer) return cudaErrorInvalidValue;
        CUdeviceptr address = 0;
        std::size_t bytes = 0;
        const cudaError_t error = Registry::get().find_variable(symbol, address, bytes);
        if (error == cudaSuccess) *pointer = reinterpret_cast<void*>(address);
        return error;
    });
}

CUPOLA_CUDART cudaError_t cudaGetSymbolSize(size_t* size, const void* symbol) {
    return entry([&](const Driver&) {
        if (!size) return cudaErrorInvalidValue;
        CUdeviceptr address = 0;
        std::size_t bytes = 0;
        const cudaError_t error = Registry::get().find_variable(symbol, address, bytes);
        if (error == cudaSuccess) *size = bytes;
        return error;
    });
}
