"""Nodes of graphs and their parameters: each type has its own functions."""

import ctypes
from ctypes import byref, c_int, c_uint64, c_void_p

from driver_abi import HostFunction

from cudart.graph_structures import (
    HostNodeParams,
    KernelNodeParams,
    MemAllocNodeParams,
    MemsetParams,
    SemaphoreNodeParams,
    kernel_node,
)
from cudart.runtime import DEVICE_TO_HOST

COOPERATIVE = 2  # cudaLaunchAttributeID


def _graph(runtime):
    return runtime.handle("cudaGraphCreate", 0)


def _empty(runtime, graph):
    return runtime.handle("cudaGraphAddEmptyNode", graph, None, 0)


def _instantiate(runtime, graph):
    return runtime.handle("cudaGraphInstantiate", graph, 0)


def _get(runtime, name, node):
    """The handle that a function stores."""
    made = c_void_p()
    getattr(runtime, name)(node, byref(made))
    return made.value or 0


def _launch(runtime, exec_):
    runtime.cudaGraphLaunch(exec_, 0)
    runtime.cudaDeviceSynchronize()


# Kernels.


def kernel_nodes(runtime):
    numbers = runtime.upload([0] * 8)
    graph, store = _graph(runtime), runtime.kernel("store")
    params = kernel_node(store, (2, 1, 1), (4, 1, 1), [c_uint64(numbers), c_int(5)])
    node = runtime.handle("cudaGraphAddKernelNode", graph, None, 0, byref(params))
    runtime.cudaGraphKernelNodeGetParams(node, byref(KernelNodeParams()))  # no host function
    exec_ = _instantiate(runtime, graph)
    _launch(runtime, exec_)
    runtime.note("numbers", runtime.ints(numbers, 8))
    changed = kernel_node(store, (1, 1, 1), (4, 1, 1), [c_uint64(numbers), c_int(6)])
    runtime.cudaGraphExecKernelNodeSetParams(exec_, node, byref(changed))
    _launch(runtime, exec_)
    runtime.note("numbers", runtime.ints(numbers, 8))
    add1 = kernel_node(runtime.kernel("add1"), (2, 1, 1), (2, 1, 1), [c_uint64(numbers)])
    runtime.cudaGraphKernelNodeSetParams(node, byref(add1))
    _launch(runtime, _instantiate(runtime, graph))
    runtime.note("numbers", runtime.ints(numbers, 8))


def wrong_kernel_nodes(runtime):
    numbers = runtime.upload([0] * 8)
    graph, store, made = _graph(runtime), runtime.kernel("store"), c_void_p()
    arguments = [c_uint64(numbers), c_int(5)]
    good = kernel_node(store, (1, 1, 1), (4, 1, 1), arguments)
    runtime.cudaGraphAddKernelNode(None, graph, None, 0, byref(good))
    runtime.cudaGraphAddKernelNode(byref(made), 0, None, 0, byref(good))
    runtime.cudaGraphAddKernelNode(byref(made), graph, None, 1, byref(good))
    for grid, block in [
        ((0, 1, 1), (1, 1, 1)),
        ((1, 1, 1), (0, 1, 1)),
        ((1, 1, 1), (1025, 1, 1)),
        ((1, 70000, 1), (1, 1, 1)),
    ]:
        runtime.note("grid, block", [grid, block])
        wrong = kernel_node(store, grid, block, arguments)
        runtime.cudaGraphAddKernelNode(byref(made), graph, None, 0, byref(wrong))
    node = runtime.handle("cudaGraphAddKernelNode", graph, None, 0, byref(good))
    other, seen = _empty(runtime, graph), KernelNodeParams()
    exec_ = _instantiate(runtime, graph)
    for get in (other, 0):
        runtime.cudaGraphKernelNodeGetParams(get, byref(seen))
        runtime.cudaGraphKernelNodeSetParams(get, byref(good))
        runtime.cudaGraphExecKernelNodeSetParams(exec_, get, byref(good))
    runtime.cudaGraphExecKernelNodeSetParams(0, node, byref(good))
    runtime.cudaGetLastError()


def attributes_of_kernel_nodes(runtime):
    graph = _graph(runtime)
    params = kernel_node(runtime.kernel("empty"), (1, 1, 1), (1, 1, 1), [])
    first = runtime.handle("cudaGraphAddKernelNode", graph, None, 0, byref(params))
    second = runtime.handle("cudaGraphAddKernelNode", graph, None, 0, byref(params))
    value = (c_int * 16)(1)
    runtime.cudaGraphKernelNodeSetAttribute(first, COOPERATIVE, value)

    def note_both():
        for node in (first, second):
            there = (c_int * 16)(*[9] * 16)
            runtime.cudaGraphKernelNodeGetAttribute(node, COOPERATIVE, there)
            runtime.note("cooperative", there[0])

    note_both()
    runtime.cudaGraphKernelNodeCopyAttributes(second, first)
    note_both()
    runtime.cudaGraphKernelNodeSetAttribute(first, COOPERATIVE, (c_int * 16)(0))
    runtime.cudaGraphKernelNodeCopyAttributes(second, first)
    note_both()
    other = _empty(runtime, graph)
    runtime.cudaGraphKernelNodeGetAttribute(first, 99, value)
    runtime.cudaGraphKernelNodeGetAttribute(other, COOPERATIVE, value)
    runtime.cudaGraphKernelNodeSetAttribute(first, 99, value)
    runtime.cudaGraphKernelNodeSetAttribute(other, COOPERATIVE, value)
    runtime.cudaGraphKernelNodeCopyAttributes(first, other)


# Host functions, child graphs, events.


def host_nodes(runtime):
    called = []
    first, second = HostFunction(called.append), HostFunction(lambda d: called.append([d]))
    graph = _graph(runtime)
    params = HostNodeParams(ctypes.cast(first, c_void_p), 5)
    node = runtime.handle("cudaGraphAddHostNode", graph, None, 0, byref(params))
    seen = HostNodeParams()
    runtime.cudaGraphHostNodeGetParams(node, byref(seen))
    runtime.note("the same", [seen.fn == params.fn, seen.userData])
    exec_ = _instantiate(runtime, graph)
    _launch(runtime, exec_)
    changed = HostNodeParams(ctypes.cast(second, c_void_p), 6)
    runtime.cudaGraphExecHostNodeSetParams(exec_, node, byref(changed))
    _launch(runtime, exec_)
    runtime.cudaGraphHostNodeSetParams(node, byref(HostNodeParams(params.fn, 7)))
    _launch(runtime, _instantiate(runtime, graph))
    runtime.note("called", called[:])
    made = c_void_p()
    other = _empty(runtime, graph)
    runtime.cudaGraphAddHostNode(byref(made), graph, None, 0, None)
    runtime.cudaGraphAddHostNode(byref(made), graph, None, 0, byref(HostNodeParams()))
    runtime.cudaGraphAddHostNode(byref(made), 0, None, 0, byref(params))
    for get in (node, other, 0):
        runtime.cudaGraphHostNodeGetParams(get, None if get == node else byref(seen))
        runtime.cudaGraphHostNodeSetParams(get, None if get == node else byref(params))
        runtime.cudaGraphExecHostNodeSetParams(exec_, get, None if get == node else byref(params))


def _adding(runtime, numbers):
    graph = _graph(runtime)
    params = kernel_node(runtime.kernel("add1"), (1, 1, 1), (4, 1, 1), [c_uint64(numbers)])
    runtime.cudaGraphAddKernelNode(byref(c_void_p()), graph, None, 0, byref(params))
    return graph


def child_graphs(runtime):
    numbers, others = runtime.upload([0] * 4), runtime.upload([10] * 4)
    child, changed, graph = _adding(runtime, numbers), _adding(runtime, others), _graph(runtime)
    node = runtime.handle("cudaGraphAddChildGraphNode", graph, None, 0, child)
    inner = _get(runtime, "cudaGraphChildGraphNodeGetGraph", node)
    runtime.note("a clone", inner != child)
    count = c_uint64()
    runtime.cudaGraphGetNodes(inner, None, byref(count))
    runtime.note("nodes", count.value)
    exec_ = _instantiate(runtime, graph)
    _launch(runtime, exec_)
    runtime.cudaGraphExecChildGraphNodeSetParams(exec_, node, changed)
    _launch(runtime, exec_)
    runtime.note("numbers", [runtime.ints(numbers, 4), runtime.ints(others, 4)])
    made = c_void_p()
    empty = _graph(runtime)
    _empty(runtime, empty)
    runtime.cudaGraphExecChildGraphNodeSetParams(exec_, node, empty)
    runtime.cudaGraphChildGraphNodeGetGraph(_empty(runtime, graph), byref(made))


def event_nodes(runtime):
    events = [runtime.handle("cudaEventCreate") for _ in range(2)]
    graph = _graph(runtime)
    record = runtime.handle("cudaGraphAddEventRecordNode", graph, None, 0, events[0])
    wait = runtime.handle("cudaGraphAddEventWaitNode", graph, byref(c_void_p(record)), 1, events[0])
    seen = _get(runtime, "cudaGraphEventRecordNodeGetEvent", record)
    runtime.note("the event", seen == events[0])
    seen = _get(runtime, "cudaGraphEventWaitNodeGetEvent", wait)
    runtime.note("the event", seen == events[0])
    exec_ = _instantiate(runtime, graph)
    _launch(runtime, exec_)
    runtime.cudaEventQuery(events[0])
    runtime.cudaGraphEventRecordNodeSetEvent(record, events[1])
    runtime.cudaGraphEventWaitNodeSetEvent(wait, events[1])
    runtime.cudaGraphExecEventRecordNodeSetEvent(exec_, record, events[1])
    runtime.cudaGraphExecEventWaitNodeSetEvent(exec_, wait, events[1])
    _launch(runtime, exec_)
    runtime.cudaEventQuery(events[1])
    made, other = c_void_p(), _empty(runtime, graph)
    for which in ("Record", "Wait"):
        node = record if which == "Record" else wait
        add = getattr(runtime, f"cudaGraphAddEvent{which}Node")
        get = getattr(runtime, f"cudaGraphEvent{which}NodeGetEvent")
        change = getattr(runtime, f"cudaGraphEvent{which}NodeSetEvent")
        change_exec = getattr(runtime, f"cudaGraphExecEvent{which}NodeSetEvent")
        add(byref(made), graph, None, 0, 0)
        add(None, graph, None, 0, events[0])
        add(byref(made), 0, None, 0, events[0])
        get(node, None)
        get(other, byref(made))
        get(0, byref(made))
        change(node, 0)
        change(other, events[0])
        change(0, events[0])
        change_exec(exec_, node, 0)
        change_exec(exec_, other, events[0])
        change_exec(0, node, events[0])


# External semaphores, of which a test has none.


def semaphore_nodes(runtime):
    graph, made = _graph(runtime), c_void_p()
    node, exec_ = _empty(runtime, graph), _instantiate(runtime, graph)
    none = SemaphoreNodeParams()
    for which in ("Signal", "Wait"):
        add = getattr(runtime, f"cudaGraphAddExternalSemaphores{which}Node")
        get = getattr(runtime, f"cudaGraphExternalSemaphores{which}NodeGetParams")
        change = getattr(runtime, f"cudaGraphExternalSemaphores{which}NodeSetParams")
        change_exec = getattr(runtime, f"cudaGraphExecExternalSemaphores{which}NodeSetParams")
        add(byref(made), graph, None, 0, None)
        add(byref(made), 0, None, 0, byref(none))
        get(node, byref(none))
        get(0, byref(none))
        change(node, byref(none))
        change(node, None)
        change_exec(exec_, node, byref(none))
        change_exec(0, node, byref(none))


# Memory.


def _allocation(size, device=0, kind=1, handles=0):
    return MemAllocNodeParams(kind, handles, 1, device, bytesize=size)


def memory_nodes(runtime):
    graph = _graph(runtime)
    params = _allocation(64)
    allocate = runtime.handle("cudaGraphAddMemAllocNode", graph, None, 0, byref(params))
    runtime.note("an address", bool(params.dptr))
    seen, address = MemAllocNodeParams(), c_void_p()
    runtime.cudaGraphMemAllocNodeGetParams(allocate, byref(seen))
    runtime.note("the same", [seen.dptr == params.dptr, seen.bytesize, seen.allocType])
    runtime.note("place", [seen.locationType, seen.locationId])
    fill = MemsetParams(params.dptr, 0, 3, 4, 16, 1)
    after = byref(c_void_p(allocate))
    node = runtime.handle("cudaGraphAddMemsetNode", graph, after, 1, byref(fill))
    back = (c_int * 16)()
    after = byref(c_void_p(node))
    node = runtime.handle(
        "cudaGraphAddMemcpyNode1D", graph, after, 1, back, params.dptr, 64, DEVICE_TO_HOST
    )
    after = byref(c_void_p(node))
    free = runtime.handle("cudaGraphAddMemFreeNode", graph, after, 1, params.dptr)
    runtime.cudaGraphMemFreeNodeGetParams(free, byref(address))
    runtime.note("the same", address.value == params.dptr)
    exec_ = _instantiate(runtime, graph)
    _launch(runtime, exec_)
    runtime.note("numbers", list(back))
    used = c_uint64(1)
    runtime.cudaDeviceGetGraphMemAttribute(0, 0, byref(used))
    runtime.note("used", used.value > 0)
    runtime.cudaDeviceGetGraphMemAttribute(0, 1, byref(used))
    runtime.note("most used", used.value > 0)
    clone = c_void_p()
    runtime.cudaGraphClone(byref(clone), graph)
    runtime.cudaGraphExecDestroy(exec_)
    runtime.cudaGraphDestroy(graph)
    runtime.cudaDeviceGraphMemTrim(0)
    runtime.cudaDeviceGetGraphMemAttribute(0, 2, byref(used))
    runtime.note("reserved", used.value)


def memory_that_stays_allocated(runtime):
    graph = _graph(runtime)
    params = _allocation(64)
    runtime.cudaGraphAddMemAllocNode(byref(c_void_p()), graph, None, 0, byref(params))
    exec_ = _instantiate(runtime, graph)
    _launch(runtime, exec_)
    runtime.cudaGraphLaunch(exec_, 0)
    runtime.cudaFree(params.dptr)
    _launch(runtime, exec_)
    runtime.cudaFree(params.dptr)
    freeing = runtime.handle("cudaGraphInstantiate", graph, 1)
    _launch(runtime, freeing)
    _launch(runtime, freeing)
    runtime.cudaFree(params.dptr)


def wrong_memory_nodes(runtime):
    graph, made = _graph(runtime), c_void_p()
    numbers = runtime.upload([0])
    runtime.cudaGraphAddMemAllocNode(byref(made), graph, None, 0, None)
    for wrong in (_allocation(0), _allocation(64, 99), _allocation(64, 0, 0)):
        runtime.cudaGraphAddMemAllocNode(byref(made), graph, None, 0, byref(wrong))
    runtime.cudaGraphAddMemFreeNode(byref(made), graph, None, 0, 0)
    runtime.cudaGraphAddMemFreeNode(byref(made), graph, None, 0, numbers)
    other = _empty(runtime, graph)
    runtime.cudaGraphMemAllocNodeGetParams(other, byref(MemAllocNodeParams()))
    runtime.cudaGraphMemAllocNodeGetParams(0, byref(MemAllocNodeParams()))
    runtime.cudaGraphMemFreeNodeGetParams(other, byref(made))
    runtime.cudaGraphMemFreeNodeGetParams(0, byref(made))
    params = _allocation(64)
    node = runtime.handle("cudaGraphAddMemAllocNode", graph, None, 0, byref(params))
    runtime.cudaGraphMemAllocNodeGetParams(node, None)
    runtime.cudaGraphDestroyNode(node)
