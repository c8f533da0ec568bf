// csrc/runtime/driver/driver_error.cpp - turns an error code of the driver into an Error.
#include <mutex>
#include <sstream>
#include <vector>

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

// The CPU device's text about the last fault in device code; "" or null where no fault has
// occurred.
const char* last_fault(const Driver* driver) {
    return driver && driver->fault && !drivers_ended() ? driver->fault() : nullptr;
}

// A fault in device code ends its context: each later call fails with the same code.
struct Fault {
    const Driver* driver;
    CUcontext context;
    CUresult code;
    std::string description;  // the CPU device's, or empty
    std::string launches;
    std::string report;  // the whole text of the first error
    std::string call;    // the call that had the error
};

struct Faults {
    std::mutex mutex;
    std::vector<Fault> all;
};

// Never destroyed: a call may fail while the process exits.
Faults& faults() {
    static auto* const all = new Faults;
    return *all;
}

// "kernel step" of the description, or of the launches where all are of one kernel.
std::string kernel_of(const Fault& fault) {
    const std::string kernel = fault.description.substr(0, fault.description.find(", block "));
    if (kernel.size() < fault.description.size() && kernel.compare(0, 7, "kernel ") == 0)
        return kernel;
    std::string name;
    std::istringstream lines(fault.launches);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t end = line.find(", grid ");
        const std::size_t indent = line.find_first_not_of(' ');
        if (end == std::string::npos || end < indent) continue;  // the title of the list
        const std::string other = line.substr(indent, end - indent);
        if (!name.empty() && other != name) return "a kernel that it lists";
        name = other;
    }
    return name.empty() ? "a kernel" : "kernel " + name;
}

// Whether an earlier error has reported the fault. Otherwise `fault` is kept, with its report.
bool was_reported(Fault& fault, Error& error) {
    if (!fault.driver || drivers_ended()) return false;
    fault.driver->cuCtxGetCurrent(&fault.context);
    std::lock_guard<std::mutex> lock(faults().mutex);
    for (Fault& known : faults().all) {
        if (known.driver != fault.driver || known.context != fault.context) continue;
        if (known.code == fault.code && known.description == fault.description) {
            error.text = fault.call + ": " + error.name + " (the context has ended: the error of " +
                         known.call + " reported the fault, of " + kernel_of(known) +
                         "; start a new process for further work on the device)";
            error.log = known.report;
            return true;
        }
        known = fault;  // the driver has made another context at this address
        return false;
    }
    faults().all.push_back(fault);
    return false;
}

}  // namespace

void fail_driver(const Driver* driver, CUresult code, const char* call, const std::string& what) {
    const char* name = nullptr;
    std::string text = describe(driver, code, &name);
    Error error{CUPOLA_ERROR_DRIVER, "", static_cast<int>(code), name ? name : "", ""};
    error.text = std::string(call) + ": " + (name ? name : "error") + " (" + text + ")";
    if (code == CUDA_ERROR_ASSERT && driver && driver->assertion && !drivers_ended())
        error.assertion = driver->assertion();
    if (of_device_code(code)) {
        const char* description = last_fault(driver);
        const auto report = report_launches.load();
        Fault fault{driver,
                    nullptr,
                    code,
                    description ? description : "",
                    report && driver ? report(*driver) : "",
                    "",
                    call};
        fault.report = error.text;
        if (!fault.description.empty()) fault.report += "\n  " + fault.description;
        if (!what.empty()) fault.report += "\n  " + what;
        fault.report += fault.launches +
                        "\n  after such a fault the driver refuses all further work on the device "
                        "in this process; host memory stays usable: start a new process for "
                        "further work on the device";
        if (!was_reported(fault, error)) error.text = fault.report;
    } else if (!what.empty()) {
        error.text += "\n  " + what;
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
