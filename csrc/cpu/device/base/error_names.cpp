// csrc/cpu/device/base/error_names.cpp - one row for each CUresult. Rows have numbers, because
// older toolkits lack some names.
#include "cpu/device/base/error_names.hpp"

#include <algorithm>
#include <iterator>

namespace cupola::cpu {
namespace {

struct Row {
    int code;
    const char* name;
    const char* text;
};

constexpr Row rows[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "the driver is not initialized, or this is a forked child"},
    {4, "CUDA_ERROR_DEINITIALIZED", "the driver is shutting down"},
    {5, "CUDA_ERROR_PROFILER_DISABLED", "profiler is disabled"},
    {6, "CUDA_ERROR_PROFILER_NOT_INITIALIZED", "profiler is not initialized"},
    {7, "CUDA_ERROR_PROFILER_ALREADY_STARTED", "profiler already started"},
    {8, "CUDA_ERROR_PROFILER_ALREADY_STOPPED", "profiler already stopped"},
    {34, "CUDA_ERROR_STUB_LIBRARY", "the library is a stub without a driver"},
    {36, "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", "the call needs a newer driver"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "the device is busy or not available"},
    {100, "CUDA_ERROR_NO_DEVICE", "no device was found"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {102, "CUDA_ERROR_DEVICE_NOT_LICENSED", "the device has no valid licence"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "the device image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid context, or none is current"},
    {202, "CUDA_ERROR_CONTEXT_ALREADY_CURRENT", "the context is current already"},
    {205, "CUDA_ERROR_MAP_FAILED", "mapping failed"},
    {206, "CUDA_ERROR_UNMAP_FAILED", "unmapping failed"},
    {207, "CUDA_ERROR_ARRAY_IS_MAPPED", "the array is mapped"},
    {208, "CUDA_ERROR_ALREADY_MAPPED", "the resource is mapped already"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "the image has no code that this device can run"},
    {210, "CUDA_ERROR_ALREADY_ACQUIRED", "the resource is acquired already"},
    {211, "CUDA_ERROR_NOT_MAPPED", "the resource is not mapped"},
    {212, "CUDA_ERROR_NOT_MAPPED_AS_ARRAY", "the resource is not mapped as an array"},
    {213, "CUDA_ERROR_NOT_MAPPED_AS_POINTER", "the resource is not mapped as a pointer"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "an uncorrectable ECC error"},
    {215, "CUDA_ERROR_UNSUPPORTED_LIMIT", "the limit is not supported here"},
    {216, "CUDA_ERROR_CONTEXT_ALREADY_IN_USE", "the context is in use by another thread"},
    {217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
     "peer access between these devices is not supported"},
    {218, "CUDA_ERROR_INVALID_PTX", "the PTX is invalid"},
    {219, "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT", "invalid graphics context"},
    {220, "CUDA_ERROR_NVLINK_UNCORRECTABLE", "an uncorrectable NVLink error"},
    {221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "the PTX JIT compiler was not found"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the PTX is of a version newer than the driver"},
    {223, "CUDA_ERROR_JIT_COMPILATION_DISABLED", "PTX JIT compilation is disabled"},
    {224, "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY", "the execution affinity is not supported"},
    {225, "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC",
     "the code synchronizes on the device, which is not supported"},
    {226, "CUDA_ERROR_CONTAINED", "a contained device error"},
    {300, "CUDA_ERROR_INVALID_SOURCE", "the kernel source is invalid"},
    {301, "CUDA_ERROR_FILE_NOT_FOUND", "file not found"},
    {302, "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND", "a symbol of a shared object was not found"},
    {303, "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", "a shared object could not be initialized"},
    {304, "CUDA_ERROR_OPERATING_SYSTEM", "a call to the operating system failed"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid handle"},
    {401, "CUDA_ERROR_ILLEGAL_STATE", "the object is in no state that allows this"},
    {402, "CUDA_ERROR_LOSSY_QUERY", "the query would lose information"},
    {500, "CUDA_ERROR_NOT_FOUND", "the named symbol was not found"},
    {600, "CUDA_ERROR_NOT_READY", "the work has not finished yet"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "a kernel accessed memory that is not there"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "the launch asks for too many resources"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT", "a kernel ran too long and was stopped"},
    {703, "CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING",
     "the launch uses an incompatible texturing mode"},
    {704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is enabled already"},
    {705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access has not been enabled"},
    {708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", "the primary context is active"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "the context is destroyed"},
    {710, "CUDA_ERROR_ASSERT", "an assertion failed in a kernel"},
    {711, "CUDA_ERROR_TOO_MANY_PEERS", "too many peers"},
    {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "the host memory is registered already"},
    {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "the host memory is not registered"},
    {714, "CUDA_ERROR_HARDWARE_STACK_ERROR", "a kernel's call stack is corrupted or overflowed"},
    {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "a kernel met an illegal instruction"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "a kernel accessed a misaligned address"},
    {717, "CUDA_ERROR_INVALID_ADDRESS_SPACE", "a kernel accessed an address in the wrong space"},
    {718, "CUDA_ERROR_INVALID_PC", "a kernel's program counter left its code"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "a kernel failed"},
    {720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks for a cooperative launch"},
    {721, "CUDA_ERROR_TENSOR_MEMORY_LEAK", "a kernel ended without freeing its tensor memory"},
    {800, "CUDA_ERROR_NOT_PERMITTED", "the operation is not permitted"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "the operation is not supported"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY", "the system is not ready yet"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "the versions of the driver's parts do not match"},
    {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
     "the device does not support forward compatibility"},
    {805, "CUDA_ERROR_MPS_CONNECTION_FAILED", "the MPS client could not connect"},
    {806, "CUDA_ERROR_MPS_RPC_FAILURE", "a call between MPS processes failed"},
    {807, "CUDA_ERROR_MPS_SERVER_NOT_READY", "the MPS server is not ready"},
    {808, "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED", "too many MPS clients"},
    {809, "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED", "too many MPS connections"},
    {810, "CUDA_ERROR_MPS_CLIENT_TERMINATED", "the MPS server ended this client"},
    {811, "CUDA_ERROR_CDP_NOT_SUPPORTED", "device-side launch is not supported"},
    {812, "CUDA_ERROR_CDP_VERSION_MISMATCH", "the versions of device-side launch do not match"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "not permitted while the stream is capturing"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "an earlier error invalidated the capture"},
    {902, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "the call would merge two captures"},
    {903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "the capture did not begin in this stream"},
    {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "the capture has a fork that was not joined"},
    {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     "the call would make a capture depend on what is outside it"},
    {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "the call would depend on the legacy stream, which cannot capture"},
    {907, "CUDA_ERROR_CAPTURED_EVENT",
     "not permitted on an event last recorded in a capturing stream"},
    {908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "the capture was begun by another thread"},
    {909, "CUDA_ERROR_TIMEOUT", "the wait ran out of time"},
    {910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "the graph differs too much for an update"},
    {911, "CUDA_ERROR_EXTERNAL_DEVICE", "an error in a device outside CUDA"},
    {912, "CUDA_ERROR_INVALID_CLUSTER_SIZE", "the cluster size is invalid"},
    {913, "CUDA_ERROR_FUNCTION_NOT_LOADED", "the function is not loaded"},
    {914, "CUDA_ERROR_INVALID_RESOURCE_TYPE", "invalid resource type"},
    {915, "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION", "invalid resource configuration"},
    {916, "CUDA_ERROR_KEY_ROTATION", "not possible during a key rotation"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const Row* find(CUresult code) {
    const auto it = std::lower_bound(std::begin(rows), std::end(rows), static_cast<int>(code),
                                     [](const Row& row, int value) { return row.code < value; });
    return it != std::end(rows) && it->code == static_cast<int>(code) ? it : nullptr;
}

}  // namespace

const char* error_name(CUresult code) {
    const Row* row = find(code);
    return row ? row->name : nullptr;
}

const char* error_text(CUresult code) {
    const Row* row = find(code);
    return row ? row->text : nullptr;
}

}  // namespace cupola::cpu
