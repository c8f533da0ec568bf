// csrc/dropin/cudart/context.cpp - settings of the current context: limits, caches, peers.
#include "dropin/cudart/cudart.hpp"

using namespace cupola::cudart;

CUPOLA_CUDART cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
    return entry([&](const Driver& d) {
        return value ? d.CtxGetLimit(value, static_cast<CUlimit>(limit)) : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
    return entry(
        [&](const Driver& d) { return d.CtxSetLimit(static_cast<CUlimit>(limit), value); });
}

CUPOLA_CUDART cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
    return entry([&](const Driver& d) {
        return config ? d.CtxGetCacheConfig(reinterpret_cast<CUfunc_cache*>(config))
                      : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config) {
    return entry(
        [&](const Driver& d) { return d.CtxSetCacheConfig(static_cast<CUfunc_cache>(config)); });
}

CUPOLA_CUDART cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
    return entry([&](const Driver& d) {
        return config ? d.CtxGetSharedMemConfig(reinterpret_cast<CUsharedconfig*>(config))
                      : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig config) {
    return entry([&](const Driver& d) {
        return d.CtxSetSharedMemConfig(static_cast<CUsharedconfig>(config));
    });
}

CUPOLA_CUDART cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    return entry([&](const Driver& d) { return d.CtxGetStreamPriorityRange(least, greatest); });
}

CUPOLA_CUDART cudaError_t cudaCtxResetPersistingL2Cache() {
    return entry([](const Driver& d) { return d.CtxResetPersistingL2Cache(); });
}

CUPOLA_CUDART cudaError_t cudaDeviceFlushGPUDirectRDMAWrites(
    cudaFlushGPUDirectRDMAWritesTarget target, cudaFlushGPUDirectRDMAWritesScope scope) {
    return entry([&](const Driver& d) {
        return d.FlushGPUDirectRDMAWrites(static_cast<CUflushGPUDirectRDMAWritesTarget>(target),
                                          static_cast<CUflushGPUDirectRDMAWritesScope>(scope));
    });
}

CUPOLA_CUDART cudaError_t cudaDeviceCanAccessPeer(int* can, int ordinal, int peer_ordinal) {
    return entry_without_context([&](const Driver& d) -> cudaError_t {
        CUdevice device = 0, peer = 0;
        const Runtime& runtime = Runtime::get();
        if (!runtime.find(ordinal, device) || !runtime.find(peer_ordinal, peer))
            return cudaErrorInvalidDevice;
        if (!can) return cudaErrorInvalidValue;
        return result_of(d.DeviceCanAccessPeer(can, device, peer));
    });
}

CUPOLA_CUDART cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute,
                                                    int ordinal, int peer_ordinal) {
    return entry_without_context([&](const Driver& d) -> cudaError_t {
        CUdevice device = 0, peer = 0;
        const Runtime& runtime = Runtime::get();
        if (!runtime.find(ordinal, device) || !runtime.find(peer_ordinal, peer))
            return cudaErrorInvalidDevice;
        if (!value) return cudaErrorInvalidValue;
        return result_of(d.DeviceGetP2PAttribute(
            value, static_cast<CUdevice_P2PAttribute>(attribute), device, peer));
    });
}

// The driver names the peer by its context.
CUPOLA_CUDART cudaError_t cudaDeviceEnablePeerAccess(int peer_ordinal, unsigned flags) {
    return entry([&](const Driver& d) -> cudaError_t {
        Runtime& runtime = Runtime::get();
        CUdevice peer = 0, device = 0;
        if (!runtime.find(peer_ordinal, peer)) return cudaErrorInvalidDevice;
        if (flags != 0) return cudaErrorInvalidValue;
        if (d.CtxGetDevice(&device) == CUDA_SUCCESS && device == peer)
            return cudaErrorPeerAccessUnsupported;
        CUcontext primary = nullptr;
        if (const cudaError_t error = runtime.primary_of(peer_ordinal, primary);
            error != cudaSuccess)
            return error;
        return result_of(d.CtxEnablePeerAccess(primary, flags));
    });
}

CUPOLA_CUDART cudaError_t cudaDeviceDisablePeerAccess(int peer_ordinal) {
    return entry([&](const Driver& d) -> cudaError_t {
        Runtime& runtime = Runtime::get();
        CUdevice peer = 0;
        if (!runtime.find(peer_ordinal, peer)) return cudaErrorInvalidDevice;
        CUcontext primary = nullptr;
        if (const cudaError_t error = runtime.primary_of(peer_ordinal, primary);
            error != cudaSuccess)
            return error;
        return result_of(d.CtxDisablePeerAccess(primary));
    });
}
