// csrc/cudart/error.cpp - the thread's last error, and names and texts of errors. Rows have
// numbers, because older toolkits lack some names.
#include <algorithm>
#include <iterator>

#include "cudart/cudart.hpp"

namespace cupola::cudart {
namespace {

struct ErrorRow {
    int code;
    const char* name;
    const char* text;
};

constexpr ErrorRow error_rows[] = {
    {0, "cudaSuccess", "no error"},
    {1, "cudaErrorInvalidValue", "invalid argument"},
    {2, "cudaErrorMemoryAllocation", "out of memory"},
    {3, "cudaErrorInitializationError",
     "the driver could not be initialized, or this is a forked child"},
    {4, "cudaErrorCudartUnloading", "the driver is shutting down"},
    {5, "cudaErrorProfilerDisabled", "profiler is disabled"},
    {6, "cudaErrorProfilerNotInitialized", "profiler is not initialized"},
    {7, "cudaErrorProfilerAlreadyStarted", "profiler already started"},
    {8, "cudaErrorProfilerAlreadyStopped", "profiler already stopped"},
    {9, "cudaErrorInvalidConfiguration", "invalid grid, block or launch attribute"},
    {12, "cudaErrorInvalidPitchValue", "invalid pitch"},
    {13, "cudaErrorInvalidSymbol", "no such device variable"},
    {16, "cudaErrorInvalidHostPointer", "invalid host pointer"},
    {17, "cudaErrorInvalidDevicePointer", "invalid device pointer"},
    {18, "cudaErrorInvalidTexture", "invalid texture"},
    {19, "cudaErrorInvalidTextureBinding", "the texture is not bound"},
    {20, "cudaErrorInvalidChannelDescriptor", "invalid channel format"},
    {21, "cudaErrorInvalidMemcpyDirection", "invalid direction of a copy"},
    {22, "cudaErrorAddressOfConstant", "the address of a constant variable was taken"},
    {23, "cudaErrorTextureFetchFailed", "a texture fetch failed"},
    {24, "cudaErrorTextureNotBound", "a texture that is not bound was read"},
    {25, "cudaErrorSynchronizationError", "synchronization failed"},
    {26, "cudaErrorInvalidFilterSetting", "linear filtering of a texture that does not support it"},
    {27, "cudaErrorInvalidNormSetting", "a texture of this type has no normalized read mode"},
    {28, "cudaErrorMixedDeviceExecution", "device code and device emulation cannot be mixed"},
    {31, "cudaErrorNotYetImplemented", "the function is not implemented"},
    {32, "cudaErrorMemoryValueTooLarge", "the size of the memory is out of range"},
    {34, "cudaErrorStubLibrary", "the library is a stub without a driver"},
    {35, "cudaErrorInsufficientDriver",
     "there is no CUDA driver, or it is too old for this runtime"},
    {36, "cudaErrorCallRequiresNewerDriver", "the call needs a newer driver"},
    {37, "cudaErrorInvalidSurface", "invalid surface"},
    {43, "cudaErrorDuplicateVariableName", "several device variables have one name"},
    {44, "cudaErrorDuplicateTextureName", "several textures have one name"},
    {45, "cudaErrorDuplicateSurfaceName", "several surfaces have one name"},
    {46, "cudaErrorDevicesUnavailable", "all devices are busy or not available"},
    {49, "cudaErrorIncompatibleDriverContext",
     "the current driver context cannot be used by the runtime"},
    {52, "cudaErrorMissingConfiguration", "a launch has no grid and block"},
    {53, "cudaErrorPriorLaunchFailure", "an earlier kernel failed"},
    {65, "cudaErrorLaunchMaxDepthExceeded", "launches of device code are nested too deeply"},
    {66, "cudaErrorLaunchFileScopedTex",
     "a kernel that device code launched uses a texture of file scope"},
    {67, "cudaErrorLaunchFileScopedSurf",
     "a kernel that device code launched uses a surface of file scope"},
    {68, "cudaErrorSyncDepthExceeded", "device code synchronized at too great a depth"},
    {69, "cudaErrorLaunchPendingCountExceeded", "too many launches of device code are pending"},
    {98, "cudaErrorInvalidDeviceFunction", "no such kernel, or no code of it for this device"},
    {100, "cudaErrorNoDevice", "no device was found"},
    {101, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {102, "cudaErrorDeviceNotLicensed", "the device has no valid licence"},
    {103, "cudaErrorSoftwareValidityNotEstablished", "the software has not been validated"},
    {127, "cudaErrorStartupFailure", "the runtime could not start"},
    {200, "cudaErrorInvalidKernelImage", "the device image is invalid"},
    {201, "cudaErrorDeviceUninitialized", "the device has no context"},
    {205, "cudaErrorMapBufferObjectFailed", "mapping failed"},
    {206, "cudaErrorUnmapBufferObjectFailed", "unmapping failed"},
    {207, "cudaErrorArrayIsMapped", "the array is mapped"},
    {208, "cudaErrorAlreadyMapped", "the resource is already mapped"},
    {209, "cudaErrorNoKernelImageForDevice", "the image has no code that this device can run"},
    {210, "cudaErrorAlreadyAcquired", "the resource is already acquired"},
    {211, "cudaErrorNotMapped", "the resource is not mapped"},
    {212, "cudaErrorNotMappedAsArray", "the resource is not mapped as an array"},
    {213, "cudaErrorNotMappedAsPointer", "the resource is not mapped as a pointer"},
    {214, "cudaErrorECCUncorrectable", "an uncorrectable ECC error"},
    {215, "cudaErrorUnsupportedLimit", "the device does not support the limit"},
    {216, "cudaErrorDeviceAlreadyInUse", "another thread uses the device"},
    {217, "cudaErrorPeerAccessUnsupported", "peer access between these devices is not supported"},
    {218, "cudaErrorInvalidPtx", "the PTX is invalid"},
    {219, "cudaErrorInvalidGraphicsContext", "invalid graphics context"},
    {220, "cudaErrorNvlinkUncorrectable", "an uncorrectable NVLink error"},
    {221, "cudaErrorJitCompilerNotFound", "the PTX JIT compiler was not found"},
    {222, "cudaErrorUnsupportedPtxVersion", "the PTX is of a version newer than the driver"},
    {223, "cudaErrorJitCompilationDisabled", "PTX JIT compilation is disabled"},
    {224, "cudaErrorUnsupportedExecAffinity", "the execution affinity is not supported"},
    {225, "cudaErrorUnsupportedDevSideSync",
     "the code calls cudaDeviceSynchronize on the device, which is not supported"},
    {226, "cudaErrorContained", "an error that the device contained"},
    {300, "cudaErrorInvalidSource", "the kernel source is invalid"},
    {301, "cudaErrorFileNotFound", "file not found"},
    {302, "cudaErrorSharedObjectSymbolNotFound", "a symbol of a shared library was not found"},
    {303, "cudaErrorSharedObjectInitFailed", "a shared library could not be initialized"},
    {304, "cudaErrorOperatingSystem", "a call of the operating system failed"},
    {400, "cudaErrorInvalidResourceHandle", "invalid handle"},
    {401, "cudaErrorIllegalState", "the object's state does not allow the operation"},
    {402, "cudaErrorLossyQuery", "the query would lose information"},
    {500, "cudaErrorSymbolNotFound", "the named symbol was not found"},
    {600, "cudaErrorNotReady", "the work has not finished yet"},
    {700, "cudaErrorIllegalAddress", "a kernel accessed an invalid address"},
    {701, "cudaErrorLaunchOutOfResources", "the launch needs too many resources"},
    {702, "cudaErrorLaunchTimeout", "a kernel ran too long and was stopped"},
    {703, "cudaErrorLaunchIncompatibleTexturing", "the launch uses an incompatible texturing mode"},
    {704, "cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    {705, "cudaErrorPeerAccessNotEnabled", "peer access is not enabled"},
    {708, "cudaErrorSetOnActiveProcess", "the device is already initialized"},
    {709, "cudaErrorContextIsDestroyed", "the context is destroyed"},
    {710, "cudaErrorAssert", "an assertion failed in a kernel"},
    {711, "cudaErrorTooManyPeers", "too many peers"},
    {712, "cudaErrorHostMemoryAlreadyRegistered", "the host memory is already registered"},
    {713, "cudaErrorHostMemoryNotRegistered", "the host memory is not registered"},
    {714, "cudaErrorHardwareStackError", "a kernel's call stack is corrupted or overflowed"},
    {715, "cudaErrorIllegalInstruction", "a kernel executed an illegal instruction"},
    {716, "cudaErrorMisalignedAddress", "a kernel accessed a misaligned address"},
    {717, "cudaErrorInvalidAddressSpace", "a kernel accessed an address in the wrong space"},
    {718, "cudaErrorInvalidPc", "a kernel's program counter left its code"},
    {719, "cudaErrorLaunchFailure", "a kernel failed"},
    {720, "cudaErrorCooperativeLaunchTooLarge", "too many blocks for a cooperative launch"},
    {721, "cudaErrorTensorMemoryLeak", "a kernel ended without freeing its tensor memory"},
    {800, "cudaErrorNotPermitted", "the operation is not permitted"},
    {801, "cudaErrorNotSupported", "the operation is not supported"},
    {802, "cudaErrorSystemNotReady", "the system is not ready yet"},
    {803, "cudaErrorSystemDriverMismatch", "the versions of the driver's parts do not match"},
    {804, "cudaErrorCompatNotSupportedOnDevice",
     "the device does not support forward compatibility"},
    {805, "cudaErrorMpsConnectionFailed", "the MPS client could not connect"},
    {806, "cudaErrorMpsRpcFailure", "a call between MPS processes failed"},
    {807, "cudaErrorMpsServerNotReady", "the MPS server is not ready"},
    {808, "cudaErrorMpsMaxClientsReached", "too many MPS clients"},
    {809, "cudaErrorMpsMaxConnectionsReached", "too many MPS connections"},
    {810, "cudaErrorMpsClientTerminated", "the MPS server ended this client"},
    {811, "cudaErrorCdpNotSupported", "launches from device code are not supported"},
    {812, "cudaErrorCdpVersionMismatch",
     "the versions of the parts that launch from device code do not match"},
    {900, "cudaErrorStreamCaptureUnsupported", "not permitted while the stream is capturing"},
    {901, "cudaErrorStreamCaptureInvalidated", "an earlier error invalidated the capture"},
    {902, "cudaErrorStreamCaptureMerge", "the call would merge two captures"},
    {903, "cudaErrorStreamCaptureUnmatched", "the capture did not begin in this stream"},
    {904, "cudaErrorStreamCaptureUnjoined", "the capture has a fork that was not joined"},
    {905, "cudaErrorStreamCaptureIsolation",
     "the call would make a capture depend on work outside it"},
    {906, "cudaErrorStreamCaptureImplicit",
     "the call would depend on the legacy stream, which cannot capture"},
    {907, "cudaErrorCapturedEvent",
     "not permitted on an event that was last recorded in a capturing stream"},
    {908, "cudaErrorStreamCaptureWrongThread", "another thread began the capture"},
    {909, "cudaErrorTimeout", "the wait ran out of time"},
    {910, "cudaErrorGraphExecUpdateFailure", "the graph differs too much for an update"},
    {911, "cudaErrorExternalDevice", "an error in a device outside CUDA"},
    {912, "cudaErrorInvalidClusterSize", "invalid cluster size"},
    {913, "cudaErrorFunctionNotLoaded", "the function is not loaded"},
    {914, "cudaErrorInvalidResourceType", "invalid resource type"},
    {915, "cudaErrorInvalidResourceConfiguration", "invalid resource configuration"},
    {999, "cudaErrorUnknown", "unknown error"},
    {10000, "cudaErrorApiFailureBase", "the first number of an error outside this list"},
};

constexpr ErrorRow unknown_error{-1, "unrecognized error code", "unrecognized error code"};

const ErrorRow& find_error(cudaError_t code) {
    const auto found = std::lower_bound(std::begin(error_rows), std::end(error_rows), code,
                                        [](const ErrorRow& row, int it) { return row.code < it; });
    return found != std::end(error_rows) && found->code == code ? *found : unknown_error;
}

}  // namespace
}  // namespace cupola::cudart

using namespace cupola::cudart;

// Without a usable driver both return why, as every call does.
CUPOLA_CUDART cudaError_t cudaGetLastError() {
    if (const cudaError_t error = Runtime::get().start(); error != cudaSuccess) return error;
    const cudaError_t last = this_thread.last;
    this_thread.last = cudaSuccess;
    return last;
}

CUPOLA_CUDART cudaError_t cudaPeekAtLastError() {
    const cudaError_t error = Runtime::get().start();
    return error != cudaSuccess ? error : this_thread.last;
}

CUPOLA_CUDART const char* cudaGetErrorName(cudaError_t error) { return find_error(error).name; }

CUPOLA_CUDART const char* cudaGetErrorString(cudaError_t error) { return find_error(error).text; }
