// csrc/runtime/driver/choice.cpp - finds a driver library, reports why, and fills the table.
#include "runtime/driver/choice.hpp"

#include <dlfcn.h>
#include <link.h>

#include "platform/truncated_library.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/library_path.hpp"

namespace cupola {
namespace {

constexpr int oldest_driver = 11030;  // the first with cuGetProcAddress
const char* const cpu_library = "libcupola_cpu.so.1";

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

std::string path_of(void* handle, const std::string& asked) {
    link_map* map = nullptr;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && *map->l_name)
        return map->l_name;
    return asked;
}

// Calls the form of cuGetProcAddress that the library has.
class Lookup {
  public:
    explicit Lookup(void* handle) {
        *reinterpret_cast<void**>(&v2_) = dlsym(handle, "cuGetProcAddress_v2");
        *reinterpret_cast<void**>(&v1_) = dlsym(handle, "cuGetProcAddress");
    }
    explicit operator bool() const { return v2_ || v1_; }
    void* operator()(const char* name, int version) const {
        void* address = nullptr;
        CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
        constexpr auto flags = CU_GET_PROC_ADDRESS_LEGACY_STREAM;
        CUresult code =
            v2_ ? v2_(name, &address, version, flags, &found) : v1_(name, &address, version, flags);
        return code == CUDA_SUCCESS ? address : nullptr;
    }

  private:
    PFN_cuGetProcAddress_v12000 v2_ = nullptr;
    PFN_cuGetProcAddress_v11030 v1_ = nullptr;
};

// The missing symbol; empty where all are found.
std::string fill(Driver& driver, const Lookup& lookup) {
    std::string missing;
// Both use #name directly: a name that is passed on is expanded by cuda.h's macros first.
#define CUPOLA_LOAD(name, version) *reinterpret_cast<void**>(&driver.name) = lookup(#name, version);
#define CUPOLA_REQUIRE(name, version)                                 \
    *reinterpret_cast<void**>(&driver.name) = lookup(#name, version); \
    if (!driver.name && missing.empty()) missing = #name;
    CUPOLA_DRIVER_SYMBOLS(CUPOLA_REQUIRE, CUPOLA_LOAD)
#undef CUPOLA_REQUIRE
#undef CUPOLA_LOAD
    return missing;
}

struct Attempt {
    std::unique_ptr<Driver> driver;  // null where the driver is not usable
    bool exists = false;             // the library file exists
    bool cpu = false;                // the library is cupola's CPU device
    std::string path, why;
};

std::string initialise(Driver& driver) {
    CUresult code = driver.cuInit(0);
    if (code == CUDA_ERROR_STUB_LIBRARY)
        return "it is a toolkit's stub library for linking; the driver itself is not installed "
               "or not where the loader looks";
    if (code != CUDA_SUCCESS) {
        const char* name = nullptr;
        driver.cuGetErrorName(code, &name);
        std::string why = "cuInit answered " + (name ? std::string(name) : std::to_string(code));
        // Names the CUPOLA_CPU_ variable whose value is invalid.
        const bool told = code == CUDA_ERROR_INVALID_VALUE && driver.refusal;
        const char* refusal = told ? driver.refusal() : nullptr;
        return refusal && *refusal ? why + ": " + refusal : why;
    }
    if (driver.cuDriverGetVersion(&driver.version) != CUDA_SUCCESS) return "it reports no version";
    int count = 0;
    if (driver.cuDeviceGetCount(&count) != CUDA_SUCCESS || count == 0) return "it has no device";
    return {};
}

Attempt attempt(const std::string& name) {
    Attempt result;
    result.path = name;
    // The drop-in libcuda.so.1 loads the library beside it. Without a '/', the loader searches.
    if (name.find('/') != std::string::npos) {
        result.why = truncation_of(name);
        if (result.why.empty()) result.why = truncation_of(folder_of(name) + "/" + cpu_library);
    }
    if (!result.why.empty()) {
        result.exists = true;
        return result;
    }
    void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char* text = dlerror();
        result.why = text ? text : "dlopen failed";
        // Any other message means that the file exists, but is broken or lacks a library.
        result.exists = result.why.rfind(name + ": cannot open shared object file", 0) != 0;
        return result;
    }
    result.exists = true;
    result.path = path_of(handle, name);
    result.cpu = dlsym(handle, "cupola_cpu_device") != nullptr;
    auto driver = std::make_unique<Driver>();
    driver->path = result.path;
    driver->cpu = result.cpu;
    *reinterpret_cast<void**>(&driver->fault) = dlsym(handle, "cupola_cpu_last_fault");
    *reinterpret_cast<void**>(&driver->refusal) = dlsym(handle, "cupola_cpu_last_refusal");
    *reinterpret_cast<void**>(&driver->assertion) = dlsym(handle, "cupola_cpu_last_assertion");
    *reinterpret_cast<void**>(&driver->hold_output) = dlsym(handle, "cupola_cpu_hold_output");
    *reinterpret_cast<void**>(&driver->held_output) = dlsym(handle, "cupola_cpu_held_output");
    *reinterpret_cast<void**>(&driver->take_output) = dlsym(handle, "cupola_cpu_take_output");
    Lookup lookup(handle);
    if (!lookup) {
        // Stub libraries of older toolkits have cuInit, but no working cuGetProcAddress.
        result.why = dlsym(handle, "cuInit")
                         ? "it has no cuGetProcAddress: a driver older than CUDA 11.3, or a stub"
                         : "it is not a CUDA driver library (no cuInit)";
        return result;
    }
    // A stub answers every call, also cuGetProcAddress, with CUDA_ERROR_STUB_LIBRARY.
    std::string missing = fill(*driver, lookup);
    if (missing == "cuInit") {
        using Init = CUresult (*)(unsigned);
        auto init = reinterpret_cast<Init>(dlsym(handle, "cuInit"));
        bool stub = init && init(0) == CUDA_ERROR_STUB_LIBRARY;
        result.why = stub ? "it is a toolkit's stub library for linking; the driver itself is "
                            "not installed or not where the loader looks"
                          : "its cuGetProcAddress does not know cuInit";
        return result;
    }
    if (!missing.empty()) {
        result.why = "it lacks " + missing + ", which drivers have since CUDA 11.3";
        return result;
    }
    result.why = initialise(*driver);
    if (!result.why.empty()) return result;
    if (driver->version < oldest_driver) {
        result.why = "it is for CUDA " + version_text(driver->version) + "; cupola needs 11.3";
        return result;
    }
    result.driver = std::move(driver);
    return result;
}

void note(std::string& report, const std::string& asked, const Attempt& tried) {
    report += "  " + asked;
    if (tried.path != asked) report += " -> " + tried.path;
    if (tried.driver)
        report += std::string(": taken (") +
                  (tried.cpu ? "cupola's CPU device" : "NVIDIA's driver") + ", CUDA " +
                  version_text(tried.driver->version) + ")\n";
    else
        report += ": passed over: " + tried.why + "\n";
}

[[noreturn]] void none(const std::string& what, const std::string& report) {
    fail(CUPOLA_ERROR_NO_DRIVER, what + "; tried:\n" + report.substr(0, report.rfind('\n')));
}

std::unique_ptr<Driver> take(Attempt& tried, std::string reason) {
    tried.driver->reason = std::move(reason);
    return std::move(tried.driver);
}

}  // namespace

std::unique_ptr<Driver> choose_driver(const std::string& choice, const char* origin,
                                      std::string& report) {
    report = "driver: " + choice + " (" + origin + ")\n";
    const std::string soname = "libcuda.so.1";
    const std::string own = folder_of(library_path()) + "/cpu/" + soname;

    if (choice.find('/') != std::string::npos) {
        Attempt tried = attempt(choice);
        note(report, choice, tried);
        if (!tried.driver) none("CUPOLA_DRIVER=" + choice + " cannot be used", report);
        return take(tried, "CUPOLA_DRIVER names this file");
    }
    if (choice != "auto" && choice != "cuda" && choice != "cpu")
        none("CUPOLA_DRIVER=" + choice + " is none of auto, cuda, cpu or a path with a '/'",
             report);

    std::string notice;
    if (choice != "cpu") {
        Attempt tried = attempt(soname);
        if (choice == "cuda" && tried.driver && tried.cpu) {
            tried.driver.reset();
            tried.why =
                "it is cupola's CPU device, which the loader's path leads to, and "
                "CUPOLA_DRIVER=cuda asks for NVIDIA's";
        }
        note(report, soname, tried);
        if (tried.driver)
            return take(tried, choice == "cuda" ? "CUPOLA_DRIVER=cuda asks for it"
                               : tried.cpu      ? "the loader's path leads to cupola's CPU device"
                                                : "NVIDIA's driver is there and has a device");
        if (choice == "cuda")
            none(
                "CUPOLA_DRIVER=cuda, and NVIDIA's driver is not usable (CUPOLA_DRIVER=auto or cpu "
                "computes without it)",
                report);
        if (tried.exists)
            notice = "NVIDIA's driver " + tried.path + " was passed over: " + tried.why +
                     "; the CPU device is used instead (CUPOLA_DRIVER=cpu asks for it silently)";
    }
    Attempt tried = attempt(own);
    note(report, own, tried);
    if (!tried.driver) none("no usable driver", report);
    auto driver = take(tried, choice == "cpu"  ? "CUPOLA_DRIVER=cpu asks for it"
                              : notice.empty() ? "this machine has no NVIDIA driver"
                                               : "NVIDIA's driver is not usable");
    driver->notice = notice;
    return driver;
}

std::unique_ptr<Driver> open_cpu_driver(std::string& report) {
    report = "driver: the CPU device (cupola.Device(\"cpu\") asks for it)\n";
    const std::string path = folder_of(library_path()) + "/cpu/" + cpu_library;
    Attempt tried = attempt(path);
    note(report, path, tried);
    if (!tried.driver) none("the CPU device is not usable", report);
    return take(tried, "cupola.Device(\"cpu\") asks for it");
}

}  // namespace cupola
