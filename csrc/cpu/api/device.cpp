// csrc/cpu/api/device.cpp - cu* entry points: devices and their primary contexts.
#include "cpu/device/driver/device.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>

#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/lifecycle/primary_context.hpp"
#include "cpu/device/stream/pool.hpp"

using namespace cupola::cpu;

namespace {

CUresult copy_text(const std::string& text, char* to, int room) {
    require(to && room > 0);
    const std::size_t length = std::min<std::size_t>(text.size(), static_cast<unsigned>(room) - 1);
    std::memcpy(to, text.data(), length);
    to[length] = '\0';
    return CUDA_SUCCESS;
}

}  // namespace

CUPOLA_API CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    return entry([&] {
        require(device);
        *device = Driver::get().device(ordinal).ordinal();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuDeviceGetCount(int* count) {
    return entry([&] {
        require(count);
        *count = static_cast<int>(Driver::get().devices.size());
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuDeviceGetName(char* name, int room, CUdevice device) {
    return entry([&] { return copy_text(Driver::get().device(device).name(), name, room); });
}

CUPOLA_API CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
    return entry([&] {
        require(uuid);
        *uuid = Driver::get().device(device).uuid();
        return CUDA_SUCCESS;
    });
}
CUPOLA_ALIAS(cuDeviceGetUuid, cuDeviceGetUuid_v2);

CUPOLA_API CUresult cuDeviceGetLuid(char*, unsigned int*, CUdevice device) {
    return entry([&] {
        Driver::get().device(device);
        return CUDA_ERROR_NOT_SUPPORTED;  // only Windows has locally unique identifiers
    });
}

CUPOLA_API CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
    return entry([&] {
        require(bytes);
        *bytes = Driver::get().device(device).budget().total();
        return CUDA_SUCCESS;
    });
}
CUPOLA_ALIAS(cuDeviceTotalMem, cuDeviceTotalMem_v2);

CUPOLA_API CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute,
                                         CUdevice device) {
    return entry([&] {
        require(value);
        const auto found = Driver::get().device(device).attribute(attribute);
        require(found.has_value());
        *value = *found;
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuDeviceGetProperties(CUdevprop* properties, CUdevice ordinal) {
    return entry([&] {
        require(properties);
        const Device& device = Driver::get().device(ordinal);
        const auto value = [&](CUdevice_attribute it) { return *device.attribute(it); };
        *properties = CUdevprop{};
        properties->maxThreadsPerBlock = value(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
        for (int axis = 0; axis < 3; ++axis) {
            properties->maxThreadsDim[axis] =
                value(static_cast<CUdevice_attribute>(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + axis));
            properties->maxGridSize[axis] =
                value(static_cast<CUdevice_attribute>(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + axis));
        }
        properties->sharedMemPerBlock = value(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
        properties->totalConstantMemory = value(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
        properties->SIMDWidth = value(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
        properties->memPitch = value(CU_DEVICE_ATTRIBUTE_MAX_PITCH);
        properties->regsPerBlock = value(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
        properties->clockRate = value(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
        properties->textureAlign = value(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
    return entry([&] {
        require(major && minor);
        const int number = Driver::get().device(device).capability().number;
        *major = number / 10;
        *minor = number % 10;
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuDeviceGetPCIBusId(char* id, int room, CUdevice device) {
    return entry([&] {
        const std::string text = Driver::get().device(device).pci_bus_id();
        require(room > static_cast<int>(text.size()));  // unlike a name, a UUID is not cut off
        return copy_text(text, id, room);
    });
}

// Accepts the text of cuDeviceGetPCIBusId in upper or lower case, also without ".function".
CUPOLA_API CUresult cuDeviceGetByPCIBusId(CUdevice* ordinal, const char* id) {
    return entry([&] {
        require(ordinal && id);
        unsigned domain, bus, slot;
        require(std::sscanf(id, "%x:%x:%x", &domain, &bus, &slot) == 3);
        std::string wanted = id;
        for (char& letter : wanted)
            letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
        for (const auto& device : Driver::get().devices) {
            const std::string whole = device->pci_bus_id();
            if (wanted != whole && wanted != whole.substr(0, whole.size() - 2)) continue;
            *ordinal = device->ordinal();
            return CUDA_SUCCESS;
        }
        return CUDA_ERROR_INVALID_DEVICE;
    });
}

CUPOLA_API CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
    return entry([&] {
        require(can);
        Driver::get().device(device);
        Driver::get().device(peer);
        *can = device != peer;
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute,
                                            CUdevice from, CUdevice to) {
    return entry([&] {
        require(value);
        Driver::get().device(from);
        Driver::get().device(to);
        require(from != to, CUDA_ERROR_INVALID_DEVICE);
        switch (static_cast<int>(attribute)) {
            case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
            case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
                *value = 0;
                return CUDA_SUCCESS;
            case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
            case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
                *value = 1;
                return CUDA_SUCCESS;
            default:
                return CUDA_ERROR_INVALID_VALUE;
        }
    });
}

namespace {
// The call for pools returns INVALID_VALUE for a device that does not exist.
void require_device(CUdevice device) {
    require(device >= 0 && static_cast<std::size_t>(device) < Driver::get().devices.size());
}
}  // namespace

// Pools of a device.

CUPOLA_API CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
    return entry([&] {
        require(pool);
        require_device(device);
        *pool = Driver::get().device(device).default_pool()->handle();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
    return entry([&] {
        require(pool);
        require_device(device);
        *pool = Driver::get().device(device).pool()->handle();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuDeviceSetMemPool(CUdevice ordinal, CUmemoryPool handle) {
    return entry([&] {
        Device& device = Driver::get().device(ordinal);
        auto pool = Driver::get().pools.get(handle, CUDA_ERROR_INVALID_VALUE);
        require(pool->place().on_device() && &pool->device() == &device && !pool->imported());
        Pool::set_current(std::move(pool));
        return CUDA_SUCCESS;
    });
}

// The primary context.

CUPOLA_API CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
    return entry([&] {
        require(context);
        *context = Driver::get().device(device).primary().retain()->handle();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    return entry([&] {
        Driver::get().device(device).primary().release();
        return CUDA_SUCCESS;
    });
}
CUPOLA_ALIAS(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2);

CUPOLA_API CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
    return entry([&] {
        Driver::get().device(device).primary().reset();
        return CUDA_SUCCESS;
    });
}
CUPOLA_ALIAS(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2);

CUPOLA_API CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice ordinal, unsigned int flags) {
    return entry([&] {
        Device& device = Driver::get().device(ordinal);
        Context::check_flags(flags);
        device.primary().set_flags(flags);
        return CUDA_SUCCESS;
    });
}
CUPOLA_ALIAS(cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2);

CUPOLA_API CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int* flags, int* active) {
    return entry([&] {
        Device& which = Driver::get().device(device);
        require(flags && active);
        which.primary().state(flags, active);
        return CUDA_SUCCESS;
    });
}
