// csrc/runtime/peer.cpp - devices that reach each other's memory.
#include "runtime/capture.hpp"
#include "runtime/context.hpp"

using namespace cupola;

namespace {

// What cuCtxEnablePeerAccess does for other memory, a pool is told by itself.
void open_pool(const Context& peer, const Context& device, bool enable) {
    if (!peer.pool || !driver().cuMemPoolSetAccess) return;
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = device.device;
    access.flags = enable ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    CUPOLA_CALL(cuMemPoolSetAccess, peer.pool, &access, 1);
}

}  // namespace

int cupola_peer_possible(int device, int peer, int* possible) {
    return guard([&] {
        required(possible, "possible");
        const Context &from = context(device), &to = context(peer);
        if (device == peer)
            *possible = 1;
        else
            CUPOLA_CALL(cuDeviceCanAccessPeer, possible, from.device, to.device);
    });
}

int cupola_peer_enable(int device, int peer, int enable) {
    return guard([&] {
        Context &from = context(device), &to = context(peer);
        if (device == peer) return;
        Current current(from);
        const Capture::Relaxed relaxed;
        CUresult code = enable ? driver().cuCtxEnablePeerAccess(to.handle, 0)
                               : driver().cuCtxDisablePeerAccess(to.handle);
        // It may have been done by somebody else in this process: what was asked for holds.
        const CUresult held =
            enable ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
        if (code != CUDA_SUCCESS && code != held)
            fail_driver(code, enable ? "cuCtxEnablePeerAccess" : "cuCtxDisablePeerAccess",
                        "device " + std::to_string(device) + " and memory of device " +
                            std::to_string(peer));
        open_pool(to, from, enable != 0);
    });
}
