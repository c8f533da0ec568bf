"""Structures of the CUDA runtime API that programs use."""

import ctypes

# Devices

# The fields of cudaDeviceProp after totalGlobalMem, in order: name, attribute numbers, and what
# differs from an int of both versions: "w" is a size_t; "12" and "13" have the field alone.
PROPERTIES = """\
sharedMemPerBlock 8 w
regsPerBlock 12
warpSize 10
memPitch 11 w
maxThreadsPerBlock 1
maxThreadsDim 2,3,4
maxGridSize 5,6,7
clockRate 13 12
totalConstMem 9 w
major 75
minor 76
textureAlignment 14 w
texturePitchAlignment 51 w
deviceOverlap 15 12
multiProcessorCount 16
kernelExecTimeoutEnabled 17 12
integrated 18
canMapHostMemory 19
computeMode 20 12
maxTexture1D 21
maxTexture1DMipmap 77
maxTexture1DLinear 69 12
maxTexture2D 22,23
maxTexture2DMipmap 73,74
maxTexture2DLinear 70,71,72
maxTexture2DGather 45,46
maxTexture3D 24,25,26
maxTexture3DAlt 47,48,49
maxTextureCubemap 52
maxTexture1DLayered 42,43
maxTexture2DLayered 27,28,29
maxTextureCubemapLayered 53,54
maxSurface1D 55
maxSurface2D 56,57
maxSurface3D 58,59,60
maxSurface1DLayered 61,62
maxSurface2DLayered 63,64,65
maxSurfaceCubemap 66
maxSurfaceCubemapLayered 67,68
surfaceAlignment 30 w
concurrentKernels 31
ECCEnabled 32
pciBusID 33
pciDeviceID 34
pciDomainID 50
tccDriver 35
asyncEngineCount 40
unifiedAddressing 41
memoryClockRate 36 12
memoryBusWidth 37
l2CacheSize 38
persistingL2CacheMaxSize 108
maxThreadsPerMultiProcessor 39
streamPrioritiesSupported 78
globalL1CacheSupported 79
localL1CacheSupported 80
sharedMemPerMultiprocessor 81 w
regsPerMultiprocessor 82
managedMemory 83
isMultiGpuBoard 84
multiGpuBoardGroupID 85
hostNativeAtomicSupported 86
singleToDoublePrecisionPerfRatio 87 12
pageableMemoryAccess 88
concurrentManagedAccess 89
computePreemptionSupported 90
canUseHostPointerForRegisteredMem 91
cooperativeLaunch 95
cooperativeMultiDeviceLaunch 96 12
sharedMemPerBlockOptin 97 w
pageableMemoryAccessUsesHostPageTables 100
directManagedMemAccessFromHost 101
maxBlocksPerMultiProcessor 106
accessPolicyMaxWindowSize 109
reservedSharedMemPerBlock 111 w
hostRegisterSupported 99
sparseCudaArraySupported 112
hostRegisterReadOnlySupported 113
timelineSemaphoreInteropSupported 114
memoryPoolsSupported 115
gpuDirectRDMASupported 116
gpuDirectRDMAFlushWritesOptions 117
gpuDirectRDMAWritesOrdering 118
memoryPoolSupportedHandleTypes 119
deferredMappingCudaArraySupported 121
ipcEventSupported 125
clusterLaunch 120
unifiedFunctionPointers 129
deviceNumaConfig 130 13
deviceNumaId 131 13
mpsEnabled 133 13
hostNumaId 134 13
gpuPciDeviceID 139 13
gpuPciSubsystemID 140 13
hostNumaMultinodeIpcSupported 143 13
"""
RESERVED = {12: 63, 13: 56}


def device_properties(major):
    """The structure cudaDeviceProp, and a map of its fields to attributes."""
    fields = [
        ("name", ctypes.c_char * 256),
        ("uuid", ctypes.c_ubyte * 16),
        ("luid", ctypes.c_ubyte * 8),
        ("luidDeviceNodeMask", ctypes.c_uint),
        ("totalGlobalMem", ctypes.c_size_t),
    ]
    attributes = {}
    for line in PROPERTIES.splitlines():
        name, numbers, *flags = line.split()
        if {"12", "13"} & set(flags) and str(major) not in flags:
            continue
        numbers = [int(number) for number in numbers.split(",")]
        kind = ctypes.c_size_t if "w" in flags else ctypes.c_int
        fields.append((name, kind if len(numbers) == 1 else kind * len(numbers)))
        attributes[name] = numbers
    fields.append(("reserved", ctypes.c_int * RESERVED[major]))
    return type("DeviceProperties", (ctypes.Structure,), {"_fields_": fields}), attributes


# Launches


class LaunchAttributeValue(ctypes.Union):
    """cudaLaunchAttributeValue."""

    _fields_ = [
        ("bytes", ctypes.c_char * 64),
        ("number", ctypes.c_int),
        ("size", ctypes.c_uint * 3),
    ]


class LaunchAttribute(ctypes.Structure):
    """cudaLaunchAttribute; the value is aligned to 8 bytes."""

    _fields_ = [("id", ctypes.c_int), ("padding", ctypes.c_int), ("value", LaunchAttributeValue)]


class LaunchConfig(ctypes.Structure):
    """cudaLaunchConfig_t."""

    _fields_ = [
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_size_t),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(LaunchAttribute)),
        ("count", ctypes.c_uint),
    ]


class FunctionAttributes(ctypes.Structure):
    """cudaFuncAttributes."""

    _fields_ = [
        *[(name, ctypes.c_size_t) for name in ("sharedSizeBytes", "constSizeBytes")],
        ("localSizeBytes", ctypes.c_size_t),
        *[(name, ctypes.c_int) for name in ("maxThreadsPerBlock", "numRegs", "ptxVersion")],
        *[(name, ctypes.c_int) for name in ("binaryVersion", "cacheModeCA")],
        ("maxDynamicSharedSizeBytes", ctypes.c_int),
        ("preferredShmemCarveout", ctypes.c_int),
        ("clusterDimMustBeSet", ctypes.c_int),
        ("requiredClusterWidth", ctypes.c_int),
        ("requiredClusterHeight", ctypes.c_int),
        ("requiredClusterDepth", ctypes.c_int),
        ("clusterSchedulingPolicyPreference", ctypes.c_int),
        ("nonPortableClusterSizeAllowed", ctypes.c_int),
        ("reserved", ctypes.c_int * 16),
    ]


class LaunchParameters(ctypes.Structure):
    """cudaLaunchParams."""

    _fields_ = [
        ("function", ctypes.c_void_p),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("arguments", ctypes.POINTER(ctypes.c_void_p)),
        ("shared", ctypes.c_size_t),
        ("stream", ctypes.c_void_p),
    ]
