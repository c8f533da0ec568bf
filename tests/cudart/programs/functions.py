"""Kernels: attributes, names, parameters, occupancy."""

import ctypes
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint64, c_void_p

from cudart.device_structures import (
    FunctionAttributes,
    LaunchAttribute,
    LaunchConfig,
    LaunchParameters,
)

MAX_DYNAMIC_SHARED, CARVEOUT, CLUSTER_MUST_BE_SET, CLUSTER_WIDTH, NON_PORTABLE = 8, 9, 10, 11, 14


def _no_function():
    return byref(c_int())


def attributes(runtime):
    found = FunctionAttributes()
    for name in ("store", "narrow", "exact", "mirror"):
        runtime.cudaFuncGetAttributes(byref(found), runtime.kernel(name))
        runtime.note(name, [found.sharedSizeBytes, found.maxThreadsPerBlock])
        runtime.note("registers", found.numRegs >= 0)
        runtime.note("versions", [found.ptxVersion, found.binaryVersion >= 75])
        runtime.note("cluster", [found.clusterDimMustBeSet, found.requiredClusterWidth])
        runtime.note("dynamic", found.maxDynamicSharedSizeBytes)
        runtime.note("carveout", found.preferredShmemCarveout)
    runtime.cudaFuncGetAttributes(byref(found), None)
    runtime.cudaFuncGetAttributes(byref(found), _no_function())
    runtime.cudaFuncGetAttributes(None, runtime.kernel("store"))
    runtime.cudaGetLastError()


def attributes_are_set(runtime):
    kernel, found = runtime.kernel("mirror"), FunctionAttributes()
    runtime.cudaFuncSetAttribute(kernel, MAX_DYNAMIC_SHARED, 40000)
    runtime.cudaFuncSetAttribute(kernel, CARVEOUT, 50)
    runtime.cudaFuncGetAttributes(byref(found), kernel)
    runtime.note("dynamic", found.maxDynamicSharedSizeBytes)
    runtime.note("carveout", found.preferredShmemCarveout)
    for attribute, value in (
        (MAX_DYNAMIC_SHARED, 1 << 30),
        (MAX_DYNAMIC_SHARED, -1),
        (CARVEOUT, -1),
        (CARVEOUT, -2),
        (CARVEOUT, 101),
        (NON_PORTABLE, 1),
        (0, 64),
        (4, 64),
        (100, 1),
        (-1, 1),
    ):
        runtime.note("attribute, value", [attribute, value])
        runtime.cudaFuncSetAttribute(kernel, attribute, value)
    runtime.cudaFuncSetAttribute(None, CARVEOUT, 50)
    runtime.cudaFuncSetAttribute(_no_function(), CARVEOUT, 50)
    runtime.cudaGetLastError()


def more_shared_memory_than_usual(runtime):
    kernel = runtime.kernel("mirror")
    most = runtime.integer("cudaDeviceGetAttribute", 97, 0)
    numbers = runtime.upload([0] * 32)
    runtime.launch(kernel, (1, 1, 1), (32, 1, 1), [c_uint64(numbers)], most)
    runtime.cudaGetLastError()
    runtime.cudaFuncSetAttribute(kernel, MAX_DYNAMIC_SHARED, most)
    runtime.launch(kernel, (1, 1, 1), (32, 1, 1), [c_uint64(numbers)], most)
    runtime.note("numbers", runtime.ints(numbers, 32))


def attributes_for_a_device(runtime):
    kernel, found = runtime.kernel("mirror"), FunctionAttributes()
    runtime.cudaKernelSetAttributeForDevice(kernel, MAX_DYNAMIC_SHARED, 30000, 0)
    runtime.cudaFuncGetAttributes(byref(found), kernel)
    runtime.note("dynamic", found.maxDynamicSharedSizeBytes)
    runtime.cudaKernelSetAttributeForDevice(kernel, MAX_DYNAMIC_SHARED, 1 << 30, 0)
    runtime.cudaKernelSetAttributeForDevice(kernel, 100, 1, 0)
    runtime.cudaKernelSetAttributeForDevice(kernel, MAX_DYNAMIC_SHARED, 30000, -1)
    runtime.cudaKernelSetAttributeForDevice(kernel, MAX_DYNAMIC_SHARED, 30000, 1000)
    runtime.cudaKernelSetAttributeForDevice(None, MAX_DYNAMIC_SHARED, 30000, 0)
    runtime.cudaGetLastError()


def cache_preferences(runtime):
    kernel = runtime.kernel("store")
    for config in (0, 1, 2, 3, 4, -1):
        runtime.cudaFuncSetCacheConfig(kernel, config)
    for config in (0, 1, 2, 3, -1):
        runtime.cudaFuncSetSharedMemConfig(kernel, config)
    runtime.cudaFuncSetCacheConfig(None, 0)
    runtime.cudaFuncSetCacheConfig(_no_function(), 0)
    runtime.cudaFuncSetSharedMemConfig(None, 0)
    runtime.cudaGetLastError()


def names(runtime):
    kernel, name = runtime.kernel("store"), c_char_p()
    runtime.cudaFuncGetName(byref(name), kernel)
    runtime.note("name", name.value.decode())
    runtime.cudaFuncGetName(None, kernel)
    runtime.cudaFuncGetName(byref(name), None)
    runtime.cudaFuncGetName(byref(name), _no_function())
    runtime.cudaGetLastError()


def parameters(runtime):
    kernel, offset, size = runtime.kernel("store"), c_size_t(), c_size_t()
    for index in range(3):
        runtime.cudaFuncGetParamInfo(kernel, index, byref(offset), byref(size))
        runtime.note("offset, bytes", [offset.value, size.value])
    runtime.cudaFuncGetParamInfo(kernel, 1, byref(offset), None)
    runtime.cudaFuncGetParamInfo(kernel, 1, None, byref(size))
    runtime.cudaFuncGetParamInfo(runtime.kernel("empty"), 0, byref(offset), byref(size))
    runtime.cudaFuncGetParamInfo(None, 0, byref(offset), byref(size))
    runtime.cudaGetLastError()


def handles(runtime):
    kernel, found = runtime.kernel("store"), c_void_p()
    runtime.cudaGetKernel(byref(found), kernel)
    runtime.note("the kernel", found.value == kernel)
    runtime.cudaGetFuncBySymbol(byref(found), kernel)
    runtime.note("found", bool(found.value))
    getattr(runtime, "__cudaGetKernel")(byref(found), kernel)
    runtime.note("the kernel", found.value == kernel)
    for name in ("cudaGetKernel", "cudaGetFuncBySymbol", "__cudaGetKernel"):
        getattr(runtime, name)(None, kernel)
        getattr(runtime, name)(byref(found), None)
        getattr(runtime, name)(byref(found), _no_function())
    runtime.cudaGetLastError()


def occupancy(runtime):
    kernel, blocks, shared = runtime.kernel("empty"), c_int(), c_size_t()
    threads = runtime.integer("cudaDeviceGetAttribute", 39, 0)
    most = runtime.integer("cudaDeviceGetAttribute", 106, 0)
    most_blocks = runtime.cudaOccupancyMaxActiveBlocksPerMultiprocessor
    for size in (32, 128, 1024):
        most_blocks(byref(blocks), kernel, size, 0)
        runtime.note("as expected", blocks.value == min(threads // size, most))
    for size, bytes_ in ((0, 0), (-1, 0), (1025, 0), (32, 1 << 20)):
        runtime.note("size, shared", [size, bytes_])
        blocks.value = 7
        most_blocks(byref(blocks), kernel, size, bytes_)
        runtime.note("blocks", blocks.value)
    most_blocks(byref(blocks), runtime.kernel("narrow"), 128, 0)
    most_blocks(byref(blocks), None, 32, 0)
    most_blocks(byref(blocks), _no_function(), 32, 0)
    with_flags = runtime.cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
    for flags in (0, 1, 2, 100):
        with_flags(byref(blocks), kernel, 128, 0, flags)
    available = runtime.cudaOccupancyAvailableDynamicSMemPerBlock
    available(byref(shared), kernel, 1, 32)
    one = shared.value
    available(byref(shared), kernel, 16, 32)
    runtime.note("less", 0 < shared.value < one)
    available(byref(shared), kernel, 0, 32)
    available(byref(shared), kernel, 1, 0)
    available(byref(shared), kernel, 1 << 20, 32)
    available(byref(shared), None, 1, 32)
    runtime.cudaGetLastError()


def occupancy_without_a_result_crashes(runtime):
    kernel = runtime.kernel("empty")
    runtime.cudaOccupancyMaxActiveBlocksPerMultiprocessor(None, kernel, 32, 0)
    runtime.cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(None, kernel, 128, 0, 0)


def shared_memory_without_a_result_crashes(runtime):
    runtime.cudaOccupancyAvailableDynamicSMemPerBlock(None, runtime.kernel("empty"), 1, 32)


CLUSTER_CALLS = "cudaOccupancyMaxPotentialClusterSize", "cudaOccupancyMaxActiveClusters"


def _clusters_of_two():
    attribute = LaunchAttribute(id=4)
    attribute.value.size[:] = 2, 1, 1
    return LaunchConfig((8, 1, 1), (32, 1, 1), 0, None, ctypes.pointer(attribute), 1)


def clusters(runtime):
    kernel, number, config = runtime.kernel("empty"), c_int(), _clusters_of_two()
    supported = runtime.integer("cudaDeviceGetAttribute", 120, 0)
    if supported:
        runtime.cudaOccupancyMaxPotentialClusterSize(byref(number), kernel, byref(config))
        runtime.note("size", number.value >= 8)
        runtime.cudaOccupancyMaxActiveClusters(byref(number), kernel, byref(config))
        runtime.note("clusters", number.value > 0)
    for name in CLUSTER_CALLS:
        getattr(runtime, name)(byref(number), None, byref(config))
    runtime.cudaGetLastError()


def clusters_without_a_result_crash(runtime):
    kernel, config = runtime.kernel("empty"), _clusters_of_two()
    for name in CLUSTER_CALLS:
        getattr(runtime, name)(None, kernel, byref(config))


def clusters_without_a_configuration_crash(runtime):
    kernel, number = runtime.kernel("empty"), c_int()
    for name in CLUSTER_CALLS:
        getattr(runtime, name)(byref(number), kernel, None)


def cooperative_launches_on_devices(runtime):
    if runtime.major != 12:
        return
    stream, numbers = runtime.handle("cudaStreamCreate"), runtime.upload([1, 2])
    pointer = c_uint64(numbers)
    arguments = (c_void_p * 1)(ctypes.addressof(pointer))
    kernel = runtime.kernel("add1")
    launch = LaunchParameters(kernel, (1, 1, 1), (2, 1, 1), arguments, 0, stream)
    runtime.cudaLaunchCooperativeKernelMultiDevice(byref(launch), 1, 0)
    runtime.cudaStreamSynchronize(stream)
    runtime.note("numbers", runtime.ints(numbers, 2))
    runtime.cudaLaunchCooperativeKernelMultiDevice(None, 1, 0)
    runtime.cudaLaunchCooperativeKernelMultiDevice(byref(launch), 0, 0)
    runtime.cudaLaunchCooperativeKernelMultiDevice(byref(launch), 1, 100)
    launch.stream = None
    runtime.cudaLaunchCooperativeKernelMultiDevice(byref(launch), 1, 0)
    launch.function = None
    runtime.cudaLaunchCooperativeKernelMultiDevice(byref(launch), 1, 0)
    runtime.cudaGetLastError()
