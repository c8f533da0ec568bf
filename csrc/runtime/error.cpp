// csrc/runtime/error.cpp - the text of this thread's last failure.
#include "runtime/error.hpp"

#include <exception>
#include <new>

#include "runtime/driver.hpp"
#include "runtime/flight.hpp"

namespace cupola {
namespace {

Error& last() {
    thread_local Error error{CUPOLA_SUCCESS, "", 0, "", ""};
    return error;
}

std::string describe(CUresult code, const char** name) {
    const Driver* driver = driver_alive();
    const char* text = nullptr;
    *name = nullptr;
    if (driver) {
        driver->cuGetErrorName(code, name);
        driver->cuGetErrorString(code, &text);
    }
    return text ? text : "unknown driver error " + std::to_string(static_cast<int>(code));
}

// Whether the code says that device code failed, now or earlier in this context.
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

}  // namespace

void fail_null(const char* name) { fail(CUPOLA_ERROR_VALUE, std::string(name) + " is NULL"); }

void fail(cupola_status status, std::string text) { throw Error{status, std::move(text)}; }

void fail_driver(CUresult code, const char* call, const std::string& what) {
    const char* name = nullptr;
    std::string text = describe(code, &name);
    Error error{CUPOLA_ERROR_DRIVER, "", static_cast<int>(code), name ? name : "", ""};
    error.text = std::string(call) + ": " + (name ? name : "error") + " (" + text + ")";
    if (const char* fault = of_device_code(code) ? last_fault() : nullptr; fault && *fault)
        error.text += std::string("\n  ") + fault;
    if (!what.empty()) error.text += "\n  " + what;
    if (of_device_code(code))
        error.text += Flight::report() +
                      "\n  after such a fault the driver refuses all further work on the device in "
                      "this process; what the host holds stays usable";
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

int keep_current_exception() noexcept {
    try {
        try {
            throw;
        } catch (Error& error) {
            last() = std::move(error);
        } catch (const std::bad_alloc&) {
            last() = {CUPOLA_ERROR_OUT_OF_MEMORY, "out of host memory", 0, "", ""};
        } catch (const std::exception& error) {
            last() = {CUPOLA_ERROR_INTERNAL, error.what(), 0, "", ""};
        }
    } catch (...) {  // no memory even for the text
        return CUPOLA_ERROR_OUT_OF_MEMORY;
    }
    return last().status;
}

}  // namespace cupola

const char* cupola_last_error(void) { return cupola::last().text.c_str(); }

void cupola_last_error_info(cupola_error_info* out) {
    const cupola::Error& error = cupola::last();
    if (out)
        *out = {error.status, error.code, error.name.c_str(), error.text.c_str(),
                error.log.c_str()};
}
