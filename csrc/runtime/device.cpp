// csrc/runtime/device.cpp - devices of the C ABI.
#include <cstring>

#include "runtime/context.hpp"
#include "runtime/flight.hpp"
#include "runtime/profile.hpp"

using namespace cupola;

int cupola_device_count(int* count) {
    return guard([&] { *required(count, "count") = device_count(); });
}

int cupola_device_current(int* device) {
    return guard([&] { *required(device, "device") = current_device(); });
}

int cupola_device_push(int device) {
    return guard([&] { CUPOLA_CALL(cuCtxPushCurrent, context(device).handle); });
}

int cupola_device_pop(void) {
    return guard([] {
        CUcontext popped = nullptr;
        CUPOLA_CALL(cuCtxPopCurrent, &popped);
    });
}

int cupola_device_name(int device, char* name, size_t size) {
    return guard([&] {
        required(name, "name");
        const std::string& text = context(device).name;
        if (size == 0) fail(CUPOLA_ERROR_VALUE, "no room for a name");
        size_t length = text.size() < size - 1 ? text.size() : size - 1;
        std::memcpy(name, text.data(), length);
        name[length] = 0;
    });
}

int cupola_device_attribute(int device, int attribute, int* value) {
    return guard([&] {
        *required(value, "value") =
            context(device).attribute(static_cast<CUdevice_attribute>(attribute));
    });
}

int cupola_device_memory(int device, size_t* free_bytes, size_t* total_bytes) {
    return guard([&] {
        Current current(context(device));
        CUPOLA_CALL(cuMemGetInfo, required(free_bytes, "free_bytes"),
                    required(total_bytes, "total_bytes"));
    });
}

int cupola_device_synchronize(int device) {
    return guard([&] {
        const Context& c = context(device);
        Current current(c);
        const Span span(CUPOLA_PROFILE_WAIT, "wait for the device", nullptr);
        CUPOLA_CALL(cuCtxSynchronize);
        Flight::all_done(c);
    });
}
