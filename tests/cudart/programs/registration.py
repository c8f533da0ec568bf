"""Kernels and variables that nvcc's host code registers, by their host addresses."""

import ctypes
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint64, c_void_p

from driver_abi import PTX

from cudart.device_structures import FunctionAttributes, LaunchConfig, LaunchParameters
from cudart.graph_structures import GraphNodeParams, KernelNodeParams, kernel_node
from cudart.runtime import Dim3, Image, fatbin

MAX_DYNAMIC_SHARED, CARVEOUT = 8, 9
HEAD = b".version 6.3\n.target sm_75\n.address_size 64\n"


def _pointers(*arguments):
    made = (c_void_p * (len(arguments) + 1))(*[ctypes.addressof(a) for a in arguments])
    made.kept = arguments
    return made


def _launchers(runtime):
    """Functions that launch (function, grid, block, arguments, shared) on a default stream."""

    def as_host_code(suffix):
        def launch(function, grid, block, arguments, shared):
            kernel = c_void_p()
            getattr(runtime, "__cudaGetKernel")(byref(kernel), function)
            call = getattr(runtime, "__cudaLaunchKernel" + suffix)
            call(kernel, Dim3(*grid), Dim3(*block), arguments, c_size_t(shared), None)

        return launch

    def by_name(name):
        def launch(function, grid, block, arguments, shared):
            call = getattr(runtime, name)
            call(function, Dim3(*grid), Dim3(*block), arguments, c_size_t(shared), None)

        return launch

    def by_config(name):
        def launch(function, grid, block, arguments, shared):
            config = LaunchConfig(grid, block, shared, None, None, 0)
            getattr(runtime, name)(byref(config), function, arguments)

        return launch

    for suffix in ("", "_ptsz"):
        yield as_host_code(suffix)
        yield by_name("cudaLaunchKernel" + suffix)
        yield by_name("cudaLaunchCooperativeKernel" + suffix)
        yield by_config("cudaLaunchKernelExC" + suffix)


def launches(runtime):
    add1, numbers = runtime.registered["add1"], runtime.upload([0] * 4)
    for launch in _launchers(runtime):
        launch(add1, (1, 1, 1), (4, 1, 1), _pointers(c_uint64(numbers)), 0)
        runtime.cudaDeviceSynchronize()
        runtime.note("numbers", runtime.ints(numbers, 4))


def wrong_configurations(runtime):
    store, exact = runtime.registered["store"], runtime.registered["exact"]
    arguments = _pointers(c_uint64(runtime.upload([0])), c_int(5))
    for launch in _launchers(runtime):
        for grid, block, shared in [
            ((0, 1, 1), (1, 1, 1), 0),
            ((1, 1, 1), (0, 1, 1), 0),
            ((1, 1, 1), (1025, 1, 1), 0),
            ((1, 1, 1), (1, 1, 65), 0),
            ((1, 70000, 1), (1, 1, 1), 0),
            ((1, 1, 1), (32, 1, 1), 1 << 20),
        ]:
            runtime.note("grid, block, shared", [grid, block, shared])
            launch(store, grid, block, arguments, shared)
            runtime.cudaGetLastError()
        runtime.note("block", "of another size than the kernel requires")
        launch(exact, (1, 1, 1), (64, 1, 1), _pointers(), 0)
        runtime.note("block", "of more threads than the kernel allows")
        launch(runtime.registered["narrow"], (1, 1, 1), (65, 1, 1), _pointers(), 0)
        runtime.cudaGetLastError()


def handles(runtime):
    store, kernel, again, function = runtime.registered["store"], *[c_void_p() for _ in "123"]
    runtime.cudaGetKernel(byref(kernel), store)
    getattr(runtime, "__cudaGetKernel")(byref(again), store)
    runtime.note("the same", kernel.value == again.value)
    runtime.note("another pointer", kernel.value not in (None, store))
    runtime.cudaGetFuncBySymbol(byref(function), store)
    runtime.note("a function", bool(function.value))
    name = c_char_p()
    runtime.cudaFuncGetName(byref(name), kernel)
    runtime.note("name", name.value.decode())
    number = runtime.upload([0])
    runtime.launch(kernel, (1, 1, 1), (1, 1, 1), [c_uint64(number), c_int(5)])
    runtime.note("number", runtime.ints(number, 1))
    for call in ("cudaGetKernel", "cudaGetFuncBySymbol", "__cudaGetKernel"):
        getattr(runtime, call)(None, store)
        getattr(runtime, call)(byref(again), kernel)
        getattr(runtime, call)(byref(again), store + 1)
    runtime.cudaGetLastError()


def attributes(runtime):
    mirror, found, kernel = runtime.registered["mirror"], FunctionAttributes(), c_void_p()
    runtime.cudaFuncSetAttribute(mirror, MAX_DYNAMIC_SHARED, 40000)
    runtime.cudaFuncSetAttribute(mirror, CARVEOUT, 50)
    runtime.cudaFuncGetAttributes(byref(found), mirror)
    runtime.note("attributes", [found.maxDynamicSharedSizeBytes, found.preferredShmemCarveout])
    runtime.note("threads", found.maxThreadsPerBlock)
    runtime.cudaFuncSetAttribute(mirror, MAX_DYNAMIC_SHARED, 1 << 30)
    runtime.cudaFuncSetAttribute(mirror, 100, 1)
    runtime.cudaGetKernel(byref(kernel), mirror)
    runtime.cudaKernelSetAttributeForDevice(kernel, MAX_DYNAMIC_SHARED, 30000, 0)
    runtime.cudaFuncGetAttributes(byref(found), mirror)
    runtime.note("dynamic", found.maxDynamicSharedSizeBytes)
    for config in (0, 1, 2, 3, 4, -1):
        runtime.cudaFuncSetCacheConfig(mirror, config)
    for config in (0, 1, 2, 3, -1):
        runtime.cudaFuncSetSharedMemConfig(mirror, config)
    runtime.cudaGetLastError()


def a_host_address_where_a_handle_belongs(runtime):
    mirror = runtime.registered["mirror"]
    runtime.cudaKernelSetAttributeForDevice(mirror, MAX_DYNAMIC_SHARED, 30000, 0)
    runtime.cudaGetLastError()


def names_and_parameters(runtime):
    store, name, offset, size = runtime.registered["store"], c_char_p(), c_size_t(), c_size_t()
    runtime.cudaFuncGetName(byref(name), store)
    runtime.note("name", name.value.decode())
    for index in range(3):
        runtime.cudaFuncGetParamInfo(store, index, byref(offset), byref(size))
        runtime.note("offset, bytes", [offset.value, size.value])


def occupancy(runtime):
    empty, blocks, shared = runtime.registered["empty"], c_int(), c_size_t()
    runtime.cudaOccupancyMaxActiveBlocksPerMultiprocessor(byref(blocks), empty, 1024, 0)
    runtime.note("blocks", blocks.value >= 1)
    more = runtime.cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
    more(byref(blocks), empty, 1024, 0, 1)
    runtime.note("blocks", blocks.value >= 1)
    runtime.cudaOccupancyAvailableDynamicSMemPerBlock(byref(shared), empty, 1, 32)
    runtime.note("shared", shared.value > 0)


def _note_node(runtime, node, functions):
    """The function of a kernel node by the name of its host address."""
    seen = KernelNodeParams()
    runtime.cudaGraphKernelNodeGetParams(node, byref(seen))
    found = [name for name, host in functions.items() if host == seen.func]
    runtime.note("function, grid, block", [found, seen.gridDim.x, seen.blockDim.x])
    return seen


def _run(runtime, graph):
    exec_ = runtime.handle("cudaGraphInstantiate", graph, 0)
    runtime.cudaGraphLaunch(exec_, 0)
    runtime.cudaDeviceSynchronize()
    return exec_


def kernel_nodes(runtime):
    functions, numbers = runtime.registered, runtime.upload([0] * 8)
    place, five = c_uint64(numbers), c_int(5)
    graph = runtime.handle("cudaGraphCreate", 0)
    params = kernel_node(functions["store"], (2, 1, 1), (4, 1, 1), [place, five])
    node = runtime.handle("cudaGraphAddKernelNode", graph, None, 0, byref(params))
    seen = _note_node(runtime, node, functions)
    pointers = ctypes.cast(seen.kernelParams, POINTER(POINTER(c_int)))
    runtime.note("argument", pointers[1][0])
    exec_ = _run(runtime, graph)
    runtime.note("numbers", runtime.ints(numbers, 8))
    changed = kernel_node(functions["store"], (1, 1, 1), (4, 1, 1), [place, c_int(6)])
    runtime.cudaGraphExecKernelNodeSetParams(exec_, node, byref(changed))
    other = kernel_node(functions["add1"], (1, 1, 1), (8, 1, 1), [place])
    runtime.cudaGraphExecKernelNodeSetParams(exec_, node, byref(other))
    runtime.cudaGraphLaunch(exec_, 0)
    runtime.note("numbers", runtime.ints(numbers, 8))
    runtime.cudaGraphKernelNodeSetParams(node, byref(seen))  # as GetParams returned it
    runtime.cudaGraphKernelNodeSetParams(node, byref(other))
    _note_node(runtime, node, functions)
    _run(runtime, graph)
    runtime.note("numbers", runtime.ints(numbers, 8))
    clone = runtime.handle("cudaGraphClone", graph)
    _note_node(runtime, runtime.handle("cudaGraphNodeFindInClone", node, clone), functions)


def wrong_kernel_nodes(runtime):
    store, made = runtime.registered["store"], c_void_p()
    arguments = [c_uint64(runtime.upload([0])), c_int(5)]
    graph = runtime.handle("cudaGraphCreate", 0)
    for grid, block in [
        ((0, 1, 1), (1, 1, 1)),
        ((1, 1, 1), (0, 1, 1)),
        ((1, 1, 1), (1025, 1, 1)),
        ((1, 70000, 1), (1, 1, 1)),
    ]:
        runtime.note("grid, block", [grid, block])
        params = kernel_node(store, grid, block, arguments)
        runtime.cudaGraphAddKernelNode(byref(made), graph, None, 0, byref(params))


def kernel_nodes_by_one_structure(runtime):
    functions, numbers = runtime.registered, runtime.upload([0] * 4)
    graph, edges = runtime.handle("cudaGraphCreate", 0), () if runtime.major == 12 else (None,)
    params = GraphNodeParams(0)
    kernel = kernel_node(functions["add1"], (1, 1, 1), (4, 1, 1), [c_uint64(numbers)])
    params.kernel = kernel
    node = runtime.handle("cudaGraphAddNode", graph, None, *edges, 0, byref(params))
    _note_node(runtime, node, functions)
    exec_ = _run(runtime, graph)
    runtime.cudaGraphExecNodeSetParams(exec_, node, byref(params))
    runtime.cudaGraphNodeSetParams(node, byref(params))
    runtime.cudaGraphLaunch(exec_, 0)
    runtime.note("numbers", runtime.ints(numbers, 4))


def captured_kernel_nodes(runtime):
    """The kernel's code is loaded while the stream captures."""
    functions, numbers = runtime.registered, runtime.upload([0] * 4)
    stream, graph, count = runtime.handle("cudaStreamCreate"), c_void_p(), c_size_t(1)
    runtime.cudaStreamBeginCapture(stream, 0)
    arguments = [c_uint64(numbers)]
    runtime.launch(functions["add1"], (1, 1, 1), (4, 1, 1), arguments, stream=stream)
    runtime.cudaStreamEndCapture(stream, byref(graph))
    node = c_void_p()
    runtime.cudaGraphGetNodes(graph, byref(node), byref(count))
    _note_node(runtime, node, functions)
    _run(runtime, graph)
    runtime.note("numbers", runtime.ints(numbers, 4))


def a_kernel_that_the_image_lacks(runtime):
    image = Image(runtime, fatbin(PTX), ["missing", "empty"])
    missing, found, kernel = image.host["missing"], FunctionAttributes(), c_void_p()
    runtime.launch(missing, (1, 1, 1), (1, 1, 1), [])
    runtime.cudaFuncGetAttributes(byref(found), missing)
    runtime.cudaGetFuncBySymbol(byref(kernel), missing)
    runtime.cudaGetKernel(byref(kernel), missing)
    for launch in _launchers(runtime):
        launch(missing, (1, 1, 1), (1, 1, 1), _pointers(), 0)
    runtime.cudaGetLastError()
    runtime.launch(image.host["empty"], (1, 1, 1), (1, 1, 1), [])
    runtime.cudaDeviceSynchronize()


def code_that_cannot_be_loaded(runtime):
    image = Image(runtime, fatbin(HEAD + b".visible .entry wrong() { nonsense; }\0"), ["wrong"])
    wrong, kernel = image.host["wrong"], c_void_p()
    runtime.launch(wrong, (1, 1, 1), (1, 1, 1), [])
    runtime.cudaGetKernel(byref(kernel), wrong)
    for launch in _launchers(runtime):
        launch(wrong, (1, 1, 1), (1, 1, 1), _pointers(), 0)
    runtime.cudaGetLastError()
    runtime.launch(runtime.registered["empty"], (1, 1, 1), (1, 1, 1), [])
    runtime.cudaDeviceSynchronize()


def cooperative_launches_on_devices(runtime):
    if runtime.major != 12:
        return
    stream, numbers = runtime.handle("cudaStreamCreate"), runtime.upload([1, 2])
    arguments, add1 = _pointers(c_uint64(numbers)), runtime.registered["add1"]
    launch = LaunchParameters(add1, (1, 1, 1), (2, 1, 1), arguments, 0, stream)
    runtime.cudaLaunchCooperativeKernelMultiDevice(byref(launch), 1, 0)
    runtime.cudaStreamSynchronize(stream)
    runtime.note("numbers", runtime.ints(numbers, 2))
    runtime.cudaLaunchCooperativeKernelMultiDevice(byref(launch), 1, 100)
    launch.stream = None
    runtime.cudaLaunchCooperativeKernelMultiDevice(byref(launch), 1, 0)
    runtime.cudaGetLastError()
