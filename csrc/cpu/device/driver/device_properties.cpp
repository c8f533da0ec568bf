// csrc/cpu/device/driver/device_properties.cpp - the identity of a CPU device, and the values of
// its attributes. They must agree with the checks of launches, memory and modules.
#include "cpu/device/driver/device_properties.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "cpu/device/base/array_limits.hpp"

namespace cupola::cpu {
namespace {

std::string processor() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        if (line.compare(0, 10, "model name") != 0) continue;
        const auto colon = line.find(": ");
        if (colon != std::string::npos) return line.substr(colon + 2);
    }
#if defined(__aarch64__)
    return "aarch64";
#else
    return "unknown processor";
#endif
}

}  // namespace

DeviceProperties::DeviceProperties(int ordinal, const Settings& settings)
    : ordinal_(ordinal),
      name_("cupola CPU device (" + processor() + ")"),
      capability_(Capability::of(settings.capability)),
      multiprocessors_(settings.threads),
      memory_(settings.memory / static_cast<unsigned>(settings.devices)),
      integrated_(settings.integrated) {}

// Equal in every process, like a GPU's: tools compare it between processes.
CUuuid DeviceProperties::uuid() const {
    CUuuid uuid;
    std::memcpy(uuid.bytes, "cupola\0cpudevice", sizeof uuid.bytes);
    uuid.bytes[6] = static_cast<char>(ordinal_);
    return uuid;
}

// No hardware has domain ffff.
std::string DeviceProperties::pci_bus_id() const {
    char text[16];
    std::snprintf(text, sizeof text, "FFFF:%02X:00.0", static_cast<unsigned>(ordinal_) & 0xff);
    return text;
}

std::optional<int> DeviceProperties::attribute(CUdevice_attribute attribute) const {
    const Capability& limits = capability_;
    switch (static_cast<int>(attribute)) {
        case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
            return Capability::threads_per_block;
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
            return static_cast<int>(Capability::block_xy);
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
            return static_cast<int>(Capability::block_z);
        case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
            return static_cast<int>(Capability::grid_x);
        case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
        case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
            return static_cast<int>(Capability::grid_yz);
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
            return Capability::shared_per_block;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
            return limits.shared_per_block_optin;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
            return limits.shared_per_multiprocessor;
        case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
            return limits.shared_reserved_per_block;
        case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY:
            return 64 << 10;
        case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
            return Capability::warp;
        case CU_DEVICE_ATTRIBUTE_MAX_PITCH:
            return 2147483647;
        case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
            return limits.registers_per_block;
        case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
            return Capability::registers_per_multiprocessor;
        case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
            return limits.threads_per_multiprocessor;
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
            return limits.blocks_per_multiprocessor;
        case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
            return multiprocessors_;
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
            return limits.number / 10;
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
            return limits.number % 10;
        // Rates in kHz. Programs divide by them; this device has no clock.
        case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
        case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
            return 1000000;
        case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
            return 64;
        case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
            return 4 << 20;
        case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT:
        case CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT:
            return 512;
        case CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT:
            return 32;
        case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
            return std::min(multiprocessors_, 3);
        case CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO:
            return 2;
        case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
            return ordinal_;
        case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
            return 0;
        case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
            return 0xffff;
        case CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID:
            return ordinal_;
        case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE:
            return CU_COMPUTEMODE_DEFAULT;
        // As many as the hardware has, so that programs can use them; they are hints.
        case CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT:
            return limits.number >= 90 ? 4 : 1;
        case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
            return limits.number >= 60;
        case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
            return limits.clusters();
        case CU_DEVICE_ATTRIBUTE_NUMA_ID:  // the device's memory is no node of the host
            return -1;
        case CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID:  // the host is one NUMA node
            return 0;
        // 0 by default although the memory is the host's: a program that reads 1 may pass any host
        // pointer, but only allocated and registered memory is mapped.
        case CU_DEVICE_ATTRIBUTE_INTEGRATED:
            return integrated_;
        case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
        case CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST:
            return !integrated_;
        // Supported features.
        case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
        case CU_DEVICE_ATTRIBUTE_CAN_TEX2D_GATHER:
        case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
        case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
        case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
        case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
        case CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
        case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS:
        case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR:
        case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
            return 1;
        case CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES:
            return CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
        default:
            break;
    }
    if (const auto limit = array_limit(attribute)) return limit;
    // Each other known attribute is 0: the device lacks the feature, or the feature has no limit
    // here.
    if (attribute > 0 && attribute < CU_DEVICE_ATTRIBUTE_MAX) return 0;
    return std::nullopt;
}

}  // namespace cupola::cpu
