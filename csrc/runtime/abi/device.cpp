// csrc/runtime/abi/device.cpp - the functions of cupola/device.h.
#include "cupola/device.h"

#include <cstring>

#include "runtime/context/capture.hpp"
#include "runtime/context/device.hpp"
#include "runtime/driver/output.hpp"
#include "runtime/lifetime/capture_scope.hpp"
#include "runtime/profile/profile.hpp"

using namespace cupola;

int cupola_device_count(int* count) {
    return guard([&] { *check_not_null(count, "count") = device_count(); });
}

int cupola_device_current(int* device) {
    return guard([&] { *check_not_null(device, "device") = current_device(); });
}

int cupola_device_push(int device) {
    return guard([&] { push_device(device); });
}

int cupola_device_pop(void) {
    return guard([] { pop_device(); });
}

int cupola_device_cpu(int* device) {
    return guard([&] { *check_not_null(device, "device") = cpu_driver().first_ordinal; });
}

int cupola_device_canonical(int device, int* out) {
    return guard([&] { *check_not_null(out, "out") = canonical_device(device); });
}

int cupola_device_is_cpu(int device, int* out) {
    return guard([&] { *check_not_null(out, "out") = context(device).driver->cpu; });
}

int cupola_device_name(int device, char* name, size_t size) {
    return guard([&] {
        check_not_null(name, "name");
        const std::string& text = context(device).name;
        if (size == 0) fail(CUPOLA_ERROR_VALUE, "size is 0: there is no room for the name");
        size_t length = text.size() < size - 1 ? text.size() : size - 1;
        std::memcpy(name, text.data(), length);
        name[length] = 0;
    });
}

int cupola_device_attribute(int device, int attribute, int* value) {
    return guard([&] {
        *check_not_null(value, "value") =
            context(device).attribute(static_cast<CUdevice_attribute>(attribute));
    });
}

int cupola_device_memory(int device, size_t* free_bytes, size_t* total_bytes) {
    return guard([&] {
        const Context& c = context(device);
        ContextScope current(c);
        CUPOLA_CALL(c.driver, cuMemGetInfo, check_not_null(free_bytes, "free_bytes"),
                    check_not_null(total_bytes, "total_bytes"));
    });
}

int cupola_device_synchronize(int device) {
    const Output::Wait wait;
    return guard([&] {
        const Context& c = context(device);
        Capture::refuse(c, "waited for");
        ContextScope current(c);
        const Span span(CUPOLA_PROFILE_WAIT, "wait for the device", nullptr);
        CUPOLA_CALL(c.driver, cuCtxSynchronize);
        Flight::all_done(c);
    });
}

int cupola_peer_possible(int device, int peer, int* possible) {
    return guard([&] {
        check_not_null(possible, "possible");
        const Context &from = context(device), &to = context(peer);
        if (&from == &to || !is_same_driver(from, to))
            *possible = &from == &to;
        else
            CUPOLA_CALL(from.driver, cuDeviceCanAccessPeer, possible, from.device, to.device);
    });
}

int cupola_peer_enable(int device, int peer, int enable) {
    return guard([&] {
        Context &from = context(device), &to = context(peer);
        if (&from == &to) return;
        if (!is_same_driver(from, to))
            fail(CUPOLA_ERROR_VALUE, device_text(from) + " can't access the memory of " +
                                         device_text(to) +
                                         ": their drivers differ; copy the data instead");
        ContextScope current(from);
        const RelaxedCapture relaxed(from.driver);
        CUresult code = enable ? from.driver->cuCtxEnablePeerAccess(to.handle, 0)
                               : from.driver->cuCtxDisablePeerAccess(to.handle);
        // Other code of this process may have enabled the access already: the requested state
        // holds.
        const CUresult held =
            enable ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
        if (code != CUDA_SUCCESS && code != held)
            fail_driver(from.driver, code,
                        enable ? "cuCtxEnablePeerAccess" : "cuCtxDisablePeerAccess",
                        "device " + std::to_string(device) + " and memory of device " +
                            std::to_string(peer));
        open_pool(to, from, enable != 0);
    });
}
