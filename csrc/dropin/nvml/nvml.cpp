// csrc/dropin/nvml/nvml.cpp - libnvidia-ml.so.1 for the CPU device: the number of devices, their
// names, addresses and memory. Queries without a counterpart on a processor return
// NVML_ERROR_NOT_SUPPORTED.
//
// The types are those of nvml.h, which no package that cupola needs has.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>

#include "cpu/api/description.hpp"

#define CUPOLA_NVML extern "C" __attribute__((visibility("default")))
// A second name for a function. The two names differ in the types, which the assembler does not
// know.
#define CUPOLA_NVML_ALIAS(alias, function) \
    __asm__(".globl " #alias "\n\t.type " #alias ", %function\n\t.set " #alias ", " #function "\n");

namespace {

// nvmlReturn_t.
enum Result : int {
    success = 0,
    uninitialized = 1,
    invalid_argument = 2,
    not_supported = 3,
    not_found = 6,
    insufficient_size = 7,
    driver_not_loaded = 9,
    library_not_found = 12,
    version_mismatch = 25,
};

const char* const error_texts[] = {
    "Success",
    "Uninitialized",
    "Invalid Argument",
    "Not Supported",
    "Insufficient Permissions",
    "Already Initialized",
    "Not Found",
    "Insufficient Size",
    "Insufficient External Power",
    "Driver Not Loaded",
    "Timeout",
    "Interrupt Request Issue",
    "NVML Shared Library Not Found",
    "Function Not Found",
    "Corrupted infoROM",
    "GPU is lost",
    "GPU requires reset",
    "The operating system has blocked the request",
    "Driver/library version mismatch",
    "In use by another client",
    "Insufficient Memory",
    "No data",
    "The requested vGPU operation is not available on target device because ECC is enabled",
    "Insufficient Resources",
    "Frequency Not Supported",
    "Argument Version Mismatch",
    "Deprecated",
    "System is not ready",
    "No GPUs were found",
    "Invalid State",
    "Reset type not supported",
};

// Programs compare this version with the release notes of CUDA. It is the first driver for CUDA
// 13.0, the version of the driver API that the CPU device has.
constexpr char driver_version[] = "580.65.06", nvml_version[] = "13.580.65.06";

constexpr int max_devices = 64;
char handles[max_devices];  // a device's handle is the address of its entry
using Handle = char*;       // nvmlDevice_t

std::atomic<int> initialized{0};

using Describe = int (*)(int, cupola_cpu_description*);

// The CPU device that the process has, else the one beside this library.
Describe find_describe() {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    void* found = driver ? dlsym(driver, "cupola_cpu_describe") : nullptr;
    Dl_info info;
    if (!found && dladdr(handles, &info) && info.dli_fname) {
        const std::string self = info.dli_fname;
        const std::string folder = self.substr(0, self.rfind('/') + 1);
        driver = dlopen((folder + "libcuda.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
        found = driver ? dlsym(driver, "cupola_cpu_describe") : nullptr;
    }
    return reinterpret_cast<Describe>(found);
}

Result describe(int ordinal, cupola_cpu_description& made) {
    static const Describe call = find_describe();
    if (!call) return library_not_found;
    return call(ordinal, &made) == 0 ? success : driver_not_loaded;
}

// Runs `body` with the device that a handle names.
template <class Body>
Result with_device(Handle handle, Body&& body) {
    if (initialized == 0) return uninitialized;
    if (handle < handles || handle >= handles + max_devices) return invalid_argument;
    cupola_cpu_description device;
    const Result described = describe(static_cast<int>(handle - handles), device);
    return described == success ? body(device) : described;
}

// Finds the first device that `matches`.
template <class Matches>
Result find(Handle* handle, Result otherwise, Matches&& matches) {
    if (initialized == 0) return uninitialized;
    if (!handle) return invalid_argument;
    cupola_cpu_description device;
    device.count = 1;
    for (int ordinal = 0; ordinal < device.count; ++ordinal) {
        if (const Result described = describe(ordinal, device)) return described;
        if (!matches(ordinal, device)) continue;
        *handle = handles + ordinal;
        return success;
    }
    return otherwise;
}

Result copy_text(const std::string& text, char* to, unsigned room) {
    if (!to) return invalid_argument;
    if (text.size() >= room) return insufficient_size;
    std::memcpy(to, text.c_str(), text.size() + 1);
    return success;
}

Result copy_version(const char* text, char* to, unsigned room) {
    return initialized == 0 ? uninitialized : copy_text(text, to, room);
}

std::string uuid_text(const unsigned char (&uuid)[16]) {
    std::string text = "GPU-";
    for (int n = 0; n < 16; ++n) {
        char digits[4];
        std::snprintf(digits, sizeof digits, "%02x", uuid[n]);
        text += digits;
        if (n == 3 || n == 5 || n == 7 || n == 9) text += '-';
    }
    return text;
}

struct PciInfo {
    char legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char id[32];
};

struct Memory {
    unsigned long long total, free, used;
};

struct MemoryV2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};
constexpr unsigned memory_v2 = sizeof(MemoryV2) | 2u << 24;  // NVML_STRUCT_VERSION

}  // namespace

// ---- the library ------------------------------------------------------------------------------

CUPOLA_NVML Result nvmlInitWithFlags(unsigned) {
    cupola_cpu_description first;
    const Result described = describe(0, first);
    if (described == success) ++initialized;
    return described;
}

CUPOLA_NVML Result nvmlInit_v2() { return nvmlInitWithFlags(0); }
CUPOLA_NVML_ALIAS(nvmlInit, nvmlInit_v2)

CUPOLA_NVML Result nvmlShutdown() {
    int count = initialized;
    while (count > 0 && !initialized.compare_exchange_weak(count, count - 1)) {
    }
    return count > 0 ? success : uninitialized;
}

CUPOLA_NVML const char* nvmlErrorString(int result) {
    constexpr int count = sizeof error_texts / sizeof *error_texts;
    return result >= 0 && result < count ? error_texts[result] : "Unknown Error";
}

CUPOLA_NVML Result nvmlSystemGetDriverVersion(char* text, unsigned room) {
    return copy_version(driver_version, text, room);
}

CUPOLA_NVML Result nvmlSystemGetNVMLVersion(char* text, unsigned room) {
    return copy_version(nvml_version, text, room);
}

CUPOLA_NVML Result nvmlSystemGetCudaDriverVersion(int* version) {
    if (!version) return invalid_argument;
    cupola_cpu_description first;
    const Result described = describe(0, first);
    if (described == success) *version = first.driver_version;
    return described;
}
CUPOLA_NVML_ALIAS(nvmlSystemGetCudaDriverVersion_v2, nvmlSystemGetCudaDriverVersion)

// ---- which devices there are ------------------------------------------------------------------

CUPOLA_NVML Result nvmlDeviceGetCount_v2(unsigned* count) {
    if (initialized == 0) return uninitialized;
    if (!count) return invalid_argument;
    cupola_cpu_description first;
    const Result described = describe(0, first);
    if (described == success) *count = static_cast<unsigned>(first.count);
    return described;
}
CUPOLA_NVML_ALIAS(nvmlDeviceGetCount, nvmlDeviceGetCount_v2)

CUPOLA_NVML Result nvmlDeviceGetHandleByIndex_v2(unsigned index, Handle* handle) {
    return find(handle, invalid_argument, [&](int ordinal, const cupola_cpu_description&) {
        return static_cast<unsigned>(ordinal) == index;
    });
}
CUPOLA_NVML_ALIAS(nvmlDeviceGetHandleByIndex, nvmlDeviceGetHandleByIndex_v2)

CUPOLA_NVML Result nvmlDeviceGetHandleByUUID(const char* uuid, Handle* handle) {
    if (!uuid) return initialized == 0 ? uninitialized : invalid_argument;
    return find(handle, not_found, [&](int, const cupola_cpu_description& device) {
        return uuid_text(device.uuid) == uuid;
    });
}

CUPOLA_NVML Result nvmlDeviceGetHandleByPciBusId_v2(const char* id, Handle* handle) {
    unsigned domain, bus, slot;
    if (!id || std::sscanf(id, "%x:%x:%x", &domain, &bus, &slot) != 3)
        return initialized == 0 ? uninitialized : invalid_argument;
    return find(handle, not_found, [&](int, const cupola_cpu_description& device) {
        return domain == static_cast<unsigned>(device.domain) &&
               bus == static_cast<unsigned>(device.bus) && slot == 0;
    });
}
CUPOLA_NVML_ALIAS(nvmlDeviceGetHandleByPciBusId, nvmlDeviceGetHandleByPciBusId_v2)

// ---- one device -------------------------------------------------------------------------------

CUPOLA_NVML Result nvmlDeviceGetIndex(Handle handle, unsigned* index) {
    return with_device(handle, [&](const cupola_cpu_description&) {
        if (!index) return invalid_argument;
        *index = static_cast<unsigned>(handle - handles);
        return success;
    });
}

// 64 bytes were enough for each name until NVML 11, so that many programs offer no more.
CUPOLA_NVML Result nvmlDeviceGetName(Handle handle, char* name, unsigned room) {
    return with_device(handle, [&](const cupola_cpu_description& device) {
        std::string text = device.name;
        if (room >= 64 && text.size() >= room) text.resize(room - 1);
        return copy_text(text, name, room);
    });
}

CUPOLA_NVML Result nvmlDeviceGetUUID(Handle handle, char* uuid, unsigned room) {
    return with_device(handle, [&](const cupola_cpu_description& device) {
        return copy_text(uuid_text(device.uuid), uuid, room);
    });
}

CUPOLA_NVML Result nvmlDeviceGetCudaComputeCapability(Handle handle, int* major, int* minor) {
    return with_device(handle, [&](const cupola_cpu_description& device) {
        if (!major || !minor) return invalid_argument;
        *major = device.major;
        *minor = device.minor;
        return success;
    });
}

CUPOLA_NVML Result nvmlDeviceGetPciInfo_v3(Handle handle, PciInfo* info) {
    return with_device(handle, [&](const cupola_cpu_description& device) {
        if (!info) return invalid_argument;
        *info = {};
        info->domain = static_cast<unsigned>(device.domain);
        info->bus = static_cast<unsigned>(device.bus);
        std::snprintf(info->id, sizeof info->id, "%08X:%02X:00.0", info->domain, info->bus);
        std::snprintf(info->legacy, sizeof info->legacy, "%04X:%02X:00.0", info->domain & 0xffff,
                      info->bus & 0xff);
        return success;
    });
}

CUPOLA_NVML Result nvmlDeviceGetMemoryInfo(Handle handle, Memory* memory) {
    return with_device(handle, [&](const cupola_cpu_description& device) {
        if (!memory) return invalid_argument;
        *memory = {device.total, device.free, device.total - device.free};
        return success;
    });
}

CUPOLA_NVML Result nvmlDeviceGetMemoryInfo_v2(Handle handle, MemoryV2* memory) {
    return with_device(handle, [&](const cupola_cpu_description& device) {
        if (!memory) return invalid_argument;
        if (memory->version != memory_v2) return version_mismatch;
        *memory = {memory_v2, device.total, 0, device.free, device.total - device.free};
        return success;
    });
}

// NVML_COMPUTEMODE_DEFAULT, as the attribute of the device is.
CUPOLA_NVML Result nvmlDeviceGetComputeMode(Handle handle, int* mode) {
    return with_device(handle, [&](const cupola_cpu_description&) {
        if (!mode) return invalid_argument;
        *mode = 0;
        return success;
    });
}

// ---- everything else --------------------------------------------------------------------------

extern "C" __attribute__((visibility("hidden"))) Result cupola_nvml_not_supported() {
    return initialized == 0 ? uninitialized : not_supported;
}

#define CUPOLA_NVML_ABSENT(name) CUPOLA_NVML_ALIAS(name, cupola_nvml_not_supported)
#include "dropin/nvml/absent.def"
