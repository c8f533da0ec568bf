// csrc/dropin/cudart/properties.cpp - fills cudaDeviceProp from the driver's attributes, and
// chooses a device by one.
#include "dropin/cudart/properties.hpp"

#include <cstdint>
#include <cstring>
#include <utility>

#include "dropin/cudart/runtime.hpp"

namespace cupola::cudart {
namespace {

// All versions of the structure begin with this head. Then follow the attributes of
// `property_rows`, then zeros.
struct PropertyHead {
    char name[256];
    CUuuid uuid;
    char luid[8];
    unsigned luid_node_mask;
    std::size_t memory;
};

enum Width { narrow = sizeof(int), wide = sizeof(std::size_t) };
enum Forms { only_12 = 1, only_13 = 2, both = 3 };

struct PropertyRow {
    int attribute;
    Width width;
    Forms forms;
};

// The rows have the order of the structure. Attributes that are newer than CUDA 12.8 are written as
// numbers.
constexpr PropertyRow property_rows[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, wide, both},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, narrow, both},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAX_PITCH, wide, both},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, narrow, both},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, narrow, only_12},
    {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, wide, both},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, narrow, both},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, narrow, both},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, wide, both},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, wide, both},
    {CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, narrow, only_12},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, narrow, both},
    {CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT, narrow, only_12},
    {CU_DEVICE_ATTRIBUTE_INTEGRATED, narrow, both},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, narrow, both},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, narrow, only_12},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH, narrow, only_12},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_WIDTH, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_LAYERS, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_WIDTH, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_HEIGHT, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_LAYERS, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS, narrow, both},
    {CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT, wide, both},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, narrow, both},
    {CU_DEVICE_ATTRIBUTE_ECC_ENABLED, narrow, both},
    {CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, narrow, both},
    {CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, narrow, both},
    {CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, narrow, both},
    {CU_DEVICE_ATTRIBUTE_TCC_DRIVER, narrow, both},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, narrow, both},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, narrow, only_12},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, narrow, both},
    {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, narrow, both},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, narrow, both},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, narrow, both},
    {CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, wide, both},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID, narrow, both},
    {CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED, narrow, both},
    {CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, narrow, only_12},
    {CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, narrow, both},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, narrow, both},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, narrow, both},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, narrow, both},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, narrow, both},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH, narrow, only_12},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, wide, both},
    {CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, narrow, both},
    {CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE, narrow, both},
    {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, wide, both},
    {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, narrow, both},
    {CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED, narrow, both},
    {CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, narrow, both},
    {CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, narrow, both},
    {CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED, narrow, both},
    {CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS, narrow, both},
    {CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING, narrow, both},
    {CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, narrow, both},
    {CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED, narrow, both},
    {CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, narrow, both},
    {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, narrow, both},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS, narrow, both},
    {CU_DEVICE_ATTRIBUTE_NUMA_CONFIG, narrow, only_13},
    {CU_DEVICE_ATTRIBUTE_NUMA_ID, narrow, only_13},
    {CU_DEVICE_ATTRIBUTE_MPS_ENABLED, narrow, only_13},
    {CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, narrow, only_13},
    {139, narrow, only_13},  // gpuPciDeviceID
    {140, narrow, only_13},  // gpuPciSubsystemID
    {143, narrow, only_13},  // hostNumaMultinodeIpcSupported
};
constexpr int last_of_11 = CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK;
constexpr std::size_t reserved_12 = 63 * sizeof(int), reserved_13 = 56 * sizeof(int);

// Calls use(row, offset) for each row of a form; returns the offset of what follows.
template <class Use>
constexpr std::size_t for_each_property(PropertyForm form, Use use) {
    std::size_t offset = sizeof(PropertyHead);
    for (const PropertyRow& row : property_rows) {
        if (!(row.forms & (form == PropertyForm::of_13 ? only_13 : only_12))) continue;
        offset = (offset + row.width - 1) / row.width * row.width;
        use(row, offset);
        offset += row.width;
        if (form == PropertyForm::of_11 && row.attribute == last_of_11) break;
    }
    return offset;
}

constexpr std::size_t size_of(PropertyForm form) {
    const std::size_t end = for_each_property(form, [](const PropertyRow&, std::size_t) {});
    const std::size_t reserved = form == PropertyForm::of_11   ? 0
                                 : form == PropertyForm::of_12 ? reserved_12
                                                               : reserved_13;
    return (end + reserved + sizeof(std::size_t) - 1) / sizeof(std::size_t) * sizeof(std::size_t);
}
static_assert(size_of(CUDA_VERSION >= 13000 ? PropertyForm::of_13 : PropertyForm::of_12) ==
              sizeof(cudaDeviceProp));

std::int64_t read_property(const void* properties, const PropertyRow& row, std::size_t offset) {
    const char* const place = static_cast<const char*>(properties) + offset;
    if (row.width == narrow) {
        int value = 0;
        std::memcpy(&value, place, sizeof value);
        return value;
    }
    std::int64_t value = 0;
    std::memcpy(&value, place, sizeof value);
    return value;
}

// How many of the wanted values a device has or exceeds, and how many it has exactly. A value of 0
// or less is not wanted.
std::pair<int, int> compare_properties(PropertyForm form, const void* device, const void* wanted) {
    std::pair<int, int> score{0, 0};
    const auto compare = [&score](std::int64_t there, std::int64_t value) {
        if (value <= 0) return;
        score.first += there >= value;
        score.second += there == value;
    };
    const auto& head = *static_cast<const PropertyHead*>(device);
    const auto& wanted_head = *static_cast<const PropertyHead*>(wanted);
    compare(static_cast<std::int64_t>(head.memory), static_cast<std::int64_t>(wanted_head.memory));
    if (wanted_head.name[0])
        compare(std::strncmp(head.name, wanted_head.name, sizeof head.name) == 0, 1);
    for_each_property(form, [&](const PropertyRow& row, std::size_t offset) {
        compare(read_property(device, row, offset), read_property(wanted, row, offset));
    });
    return score;
}

}  // namespace

cudaError_t get_properties(PropertyForm form, void* properties, int ordinal) {
    if (!properties) return cudaErrorInvalidValue;
    CUdevice device = 0;
    if (!Runtime::get().find(ordinal, device)) return cudaErrorInvalidDevice;
    const Driver& d = driver_tables[0];
    PropertyHead head{};
    CUresult result = d.DeviceGetName(head.name, sizeof head.name, device);
    if (result == CUDA_SUCCESS) result = d.DeviceGetUuid(&head.uuid, device);
    if (result == CUDA_SUCCESS) result = d.DeviceTotalMem(&head.memory, device);
    if (result != CUDA_SUCCESS) return result_of(result);
    d.DeviceGetLuid(head.luid, &head.luid_node_mask, device);  // only Windows has them
    std::memset(properties, 0, size_of(form));
    std::memcpy(properties, &head, sizeof head);
    for_each_property(form, [&](const PropertyRow& row, std::size_t offset) {
        // A driver that is older than an attribute does not know it: the device lacks the ability.
        int value = 0;
        if (d.DeviceGetAttribute(&value, static_cast<CUdevice_attribute>(row.attribute), device) !=
            CUDA_SUCCESS)
            return;
        char* const place = static_cast<char*>(properties) + offset;
        const std::int64_t extended = value;
        if (row.width == wide)
            std::memcpy(place, &extended, sizeof extended);
        else
            std::memcpy(place, &value, sizeof value);
    });
    return cudaSuccess;
}

cudaError_t choose_by_properties(PropertyForm form, int* ordinal, const void* wanted) {
    if (!ordinal || !wanted) return cudaErrorInvalidValue;
    alignas(std::size_t) char properties[size_of(PropertyForm::of_12)];
    static_assert(sizeof properties >= size_of(PropertyForm::of_13));
    std::pair<int, int> best{-1, -1};
    for (int n = 0; n < Runtime::get().count(); ++n) {
        if (const cudaError_t error = get_properties(form, properties, n); error != cudaSuccess)
            return error;
        const std::pair<int, int> score = compare_properties(form, properties, wanted);
        if (score > best) {
            best = score;
            *ordinal = n;
        }
    }
    return cudaSuccess;
}

}  // namespace cupola::cudart
