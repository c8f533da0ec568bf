// csrc/runtime/context/context.cpp - makes contexts current and reads their attributes.
#include "runtime/context/context.hpp"

#include "cupola/device.h"

namespace cupola {

int Context::attribute(CUdevice_attribute attribute) const {
    int value = 0;
    CUPOLA_CALL(driver, cuDeviceGetAttribute, &value, attribute, device);
    return value;
}

std::string device_text(int ordinal) {
    if (ordinal < CUPOLA_CPU_DEVICE) return "device " + std::to_string(ordinal);
    const int number = ordinal - CUPOLA_CPU_DEVICE;
    return number ? "CPU device " + std::to_string(number) : "the CPU device";
}

void fail_driver_mismatch(const Context& one, const char* name, const Context& other,
                          const char* other_name) {
    fail(CUPOLA_ERROR_VALUE, std::string(name) + " is of " + device_text(one) + ", " + other_name +
                                 " is of " + device_text(other) + ": their drivers differ");
}

void ContextScope::change(CUresult code, CUcontext current) {
    const Driver& d = context_.driver;
    check(d, code, "cuCtxGetCurrent");
    // Where no context is current, device 0 counts as current: only its context may stay current.
    if (!current && context_.device == 0) {
        check(d, d.cuCtxSetCurrent(context_.handle), "cuCtxSetCurrent");
        return;
    }
    check(d, d.cuCtxPushCurrent(context_.handle), "cuCtxPushCurrent");
    pushed_ = true;
}

void ContextScope::pop() noexcept {
    if (const Driver* d = context_.driver.alive()) {
        CUcontext popped = nullptr;
        d->cuCtxPopCurrent(&popped);
    }
}

}  // namespace cupola
