// csrc/runtime/context/context.cpp - makes contexts current and reads their attributes.
#include "runtime/context/context.hpp"

namespace cupola {

int Context::attribute(CUdevice_attribute attribute) const {
    int value = 0;
    CUPOLA_CALL(cuDeviceGetAttribute, &value, attribute, device);
    return value;
}

void ContextScope::change(const Context& context, CUresult code, CUcontext current) {
    const Driver& d = driver();
    check(code, "cuCtxGetCurrent");
    // Where no context is current, device 0 counts as current: only its context may stay current.
    if (!current && context.ordinal == 0) {
        check(d.cuCtxSetCurrent(context.handle), "cuCtxSetCurrent");
        return;
    }
    check(d.cuCtxPushCurrent(context.handle), "cuCtxPushCurrent");
    pushed_ = true;
}

void ContextScope::pop() noexcept {
    if (const Driver* d = driver_alive()) {
        CUcontext popped = nullptr;
        d->cuCtxPopCurrent(&popped);
    }
}

}  // namespace cupola
