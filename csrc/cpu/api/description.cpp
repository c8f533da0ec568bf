// csrc/cpu/api/description.cpp - describes devices to libnvidia-ml.so.1.
#include "cpu/api/description.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "cpu/api/startup.hpp"
#include "cpu/device/driver/device.hpp"
#include "cpu/device/driver/driver.hpp"

using namespace cupola::cpu;

namespace {

// `free`: bytes.
void describe(const DeviceProperties& device, std::size_t free, int count,
              cupola_cpu_description& made) {
    made = {};
    made.count = count;
    cuDriverGetVersion(&made.driver_version);
    made.major = device.capability().number / 10;
    made.minor = device.capability().number % 10;
    made.domain = *device.attribute(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
    made.bus = *device.attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
    made.total = device.memory();
    made.free = free;
    const CUuuid uuid = device.uuid();
    std::memcpy(made.uuid, uuid.bytes, sizeof made.uuid);
    device.name().copy(made.name, sizeof made.name - 1);
}

}  // namespace

CUPOLA_API int cupola_cpu_describe(int ordinal, cupola_cpu_description* description) {
    return result_of([&] {
        require(description);
        if (DriverState::get() == CUDA_SUCCESS) {
            Driver& driver = Driver::get();
            Device& device = driver.device(ordinal);
            describe(device, device.budget().free(), driver.settings.devices, *description);
            return CUDA_SUCCESS;
        }
        // The settings that cuInit would use, read at each call: the environment may still change.
        static std::mutex* const mutex = new std::mutex;
        std::lock_guard lock(*mutex);
        Settings settings;
        std::string error;
        if (!read_settings(settings, error)) {
            std::fprintf(stderr, "cupola: %s\n", error.c_str());
            return CUDA_ERROR_INVALID_VALUE;
        }
        require(ordinal >= 0 && ordinal < settings.devices, CUDA_ERROR_INVALID_DEVICE);
        const DeviceProperties device(ordinal, settings);
        describe(device, device.memory(), settings.devices, *description);
        return CUDA_SUCCESS;
    });
}
