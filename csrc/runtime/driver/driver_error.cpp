// csrc/runtime/driver/driver_error.cpp - turns an error code of the driver into an Error.
#include "runtime/driver/driver.hpp"

namespace cupola {

std::atomic<std::string (*)(const Driver&)> report_launches{nullptr};

namespace {

std::string describe(const Driver* driver, CUresult code, const char** name) {
    const char* text = nullptr;
    *name = nullptr;
    if (driver && !drivers_ended()) {
        driver->cuGetErrorName(code, name);
        driver->cuGetErrorString(code, &text);
    }
    return text ? text : "unknown driver error " + std::to_string(static_cast<int>(code));
}

// Whether the code reports a failure of device code, now or earlier in this context.
bool of_device_code(CUresult code) {
    switch (code) {
        case CUDA_ERROR_ILLEGAL_ADDRESS:
        case CUDA_ERROR_LAUNCH_TIMEOUT:
        case CUDA_ERROR_ASSERT:
        case CUDA_ERROR_HARDWARE_STACK_ERROR:
        case CUDA_ERROR_ILLEGAL_INSTRUCTION:
        case CUDA_ERROR_MISALIGNED_ADDRESS:
        case CUDA_ERROR_INVALID_ADDRESS_SPACE:
        case CUDA_ERROR_INVALID_PC:
        case CUDA_ERROR_LAUNCH_FAILED:
        case CUDA_ERROR_EXTERNAL_DEVICE:
            return true;
        default:
            return false;
    }
}

// The CPU device's text about the last fault in device code; "" or null where there is none.
const char* last_fault(const Driver* driver) {
    return driver && driver->fault && !drivers_ended() ? driver->fault() : nullptr;
}

}  // namespace

void fail_driver(const Driver* driver, CUresult code, const char* call, const std::string& what) {
    const char* name = nullptr;
    std::string text = describe(driver, code, &name);
    Error error{CUPOLA_ERROR_DRIVER, "", static_cast<int>(code), name ? name : "", ""};
    error.text = std::string(call) + ": " + (name ? name : "error") + " (" + text + ")";
    if (const char* fault = of_device_code(code) ? last_fault(driver) : nullptr; fault && *fault)
        error.text += std::string("\n  ") + fault;
    if (code == CUDA_ERROR_ASSERT && driver && driver->assertion && !drivers_ended())
        error.assertion = driver->assertion();
    if (!what.empty()) error.text += "\n  " + what;
    if (of_device_code(code)) {
        if (const auto report = report_launches.load(); report && driver)
            error.text += report(*driver);
        error.text +=
            "\n  after such a fault the driver refuses all further work on the device in this "
            "process; host memory stays usable: start a new process for further work on the device";
    }
    switch (code) {
        case CUDA_ERROR_OUT_OF_MEMORY:
            error.status = CUPOLA_ERROR_OUT_OF_MEMORY;
            break;
        case CUDA_ERROR_INVALID_IMAGE:
        case CUDA_ERROR_INVALID_PTX:
        case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
        case CUDA_ERROR_NO_BINARY_FOR_GPU:
        case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
            error.status = CUPOLA_ERROR_IMAGE;
            break;
        default:
            break;
    }
    throw error;
}

}  // namespace cupola
