// csrc/runtime/symbols.hpp - the one table of driver symbols. A row is a symbol's name and the CUDA
// version whose signature is meant (cudaTypedefs.h lists them); it makes a member of Driver.
// REQUIRED symbols are older than the oldest driver taken (11.3); OPTIONAL ones may be null.
#pragma once

#define CUPOLA_DRIVER_SYMBOLS(REQUIRED, OPTIONAL)               \
    REQUIRED(cuInit, 2000)                                      \
    REQUIRED(cuDriverGetVersion, 2020)                          \
    REQUIRED(cuGetErrorName, 6000)                              \
    REQUIRED(cuGetErrorString, 6000)                            \
    REQUIRED(cuDeviceGetCount, 2000)                            \
    REQUIRED(cuDeviceGet, 2000)                                 \
    REQUIRED(cuDeviceGetName, 2000)                             \
    REQUIRED(cuDeviceGetAttribute, 2000)                        \
    REQUIRED(cuDeviceTotalMem, 3020)                            \
    REQUIRED(cuDevicePrimaryCtxRetain, 7000)                    \
    REQUIRED(cuCtxGetCurrent, 4000)                             \
    REQUIRED(cuCtxSetCurrent, 4000)                             \
    REQUIRED(cuCtxPushCurrent, 4000)                            \
    REQUIRED(cuCtxPopCurrent, 4000)                             \
    REQUIRED(cuCtxGetDevice, 2000)                              \
    REQUIRED(cuCtxSynchronize, 2000)                            \
    REQUIRED(cuStreamCreateWithPriority, 5050)                  \
    REQUIRED(cuStreamDestroy, 4000)                             \
    REQUIRED(cuStreamSynchronize, 2000)                         \
    REQUIRED(cuStreamQuery, 2000)                               \
    REQUIRED(cuStreamWaitEvent, 3020)                           \
    REQUIRED(cuStreamIsCapturing, 10000)                        \
    REQUIRED(cuLaunchHostFunc, 10000)                           \
    REQUIRED(cuEventCreate, 2000)                               \
    REQUIRED(cuEventRecord, 2000)                               \
    REQUIRED(cuEventQuery, 2000)                                \
    REQUIRED(cuEventSynchronize, 2000)                          \
    REQUIRED(cuEventElapsedTime, 2000)                          \
    REQUIRED(cuEventDestroy, 4000)                              \
    REQUIRED(cuMemGetInfo, 3020)                                \
    REQUIRED(cuMemAlloc, 3020)                                  \
    REQUIRED(cuMemFree, 3020)                                   \
    REQUIRED(cuMemHostAlloc, 2020)                              \
    REQUIRED(cuMemFreeHost, 2000)                               \
    REQUIRED(cuMemcpyHtoDAsync, 3020)                           \
    REQUIRED(cuMemcpyDtoHAsync, 3020)                           \
    REQUIRED(cuMemcpyDtoDAsync, 3020)                           \
    REQUIRED(cuMemsetD8Async, 3020)                             \
    REQUIRED(cuMemsetD16Async, 3020)                            \
    REQUIRED(cuMemsetD32Async, 3020)                            \
    REQUIRED(cuPointerGetAttribute, 4000)                       \
    REQUIRED(cuModuleLoadDataEx, 2010)                          \
    REQUIRED(cuModuleUnload, 2000)                              \
    REQUIRED(cuModuleGetFunction, 2000)                         \
    REQUIRED(cuModuleGetGlobal, 3020)                           \
    REQUIRED(cuFuncGetAttribute, 2020)                          \
    REQUIRED(cuFuncSetAttribute, 9000)                          \
    REQUIRED(cuLaunchKernel, 4000)                              \
    REQUIRED(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050) \
    REQUIRED(cuOccupancyMaxPotentialBlockSize, 6050)            \
    OPTIONAL(cuMemPoolCreate, 11020)                            \
    OPTIONAL(cuMemPoolSetAttribute, 11020)                      \
    OPTIONAL(cuMemAllocFromPoolAsync, 11020)                    \
    OPTIONAL(cuMemFreeAsync, 11020)                             \
    OPTIONAL(cuModuleGetFunctionCount, 12040)                   \
    OPTIONAL(cuModuleEnumerateFunctions, 12040)                 \
    OPTIONAL(cuFuncGetName, 12030)                              \
    OPTIONAL(cuFuncGetParamInfo, 12040)                         \
    OPTIONAL(cuLaunchKernelEx, 11060)                           \
    OPTIONAL(cuThreadExchangeStreamCaptureMode, 10010)
