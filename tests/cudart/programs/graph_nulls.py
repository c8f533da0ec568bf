"""Calls on graphs that may crash NVIDIA's driver or runtime, one in each program.

They pass null pointers, or a graph, a function or an object that the call does not accept.
"""

import ctypes
from ctypes import byref, c_int, c_uint64, c_void_p

from driver_abi import HostFunction

from cudart.graph_structures import MemAllocNodeParams, kernel_node

COOPERATIVE = 2  # cudaLaunchAttributeID


def _graph(runtime):
    return runtime.handle("cudaGraphCreate", 0)


def _empty(runtime, graph):
    return runtime.handle("cudaGraphAddEmptyNode", graph, None, 0)


def _instantiate(runtime, graph):
    return runtime.handle("cudaGraphInstantiate", graph, 0)


def _no_function_node(runtime, function):
    graph, made = _graph(runtime), c_void_p()
    wrong = kernel_node(function, (1, 1, 1), (4, 1, 1), [c_uint64(0), c_int(5)])
    runtime.cudaGraphAddKernelNode(byref(made), graph, None, 0, byref(wrong))


def a_kernel_node_of_null_crashes(runtime):
    _no_function_node(runtime, 0)


def a_kernel_node_of_no_function_crashes(runtime):
    here = c_int()
    _no_function_node(runtime, ctypes.addressof(here))


def a_kernel_node_without_parameters_crashes(runtime):
    runtime.cudaGraphAddKernelNode(byref(c_void_p()), _graph(runtime), None, 0, None)


def _empty_kernel_node(runtime):
    graph = _graph(runtime)
    params = kernel_node(runtime.kernel("empty"), (1, 1, 1), (1, 1, 1), [])
    return graph, runtime.handle("cudaGraphAddKernelNode", graph, None, 0, byref(params))


def reading_no_kernel_parameters_crashes(runtime):
    _, node = _empty_kernel_node(runtime)
    runtime.cudaGraphKernelNodeGetParams(node, None)


def setting_no_kernel_parameters_crashes(runtime):
    _, node = _empty_kernel_node(runtime)
    runtime.cudaGraphKernelNodeSetParams(node, None)


def setting_no_kernel_parameters_of_an_executable_graph_crashes(runtime):
    graph, node = _empty_kernel_node(runtime)
    runtime.cudaGraphExecKernelNodeSetParams(_instantiate(runtime, graph), node, None)


def reading_an_attribute_of_no_node_crashes(runtime):
    runtime.cudaGraphKernelNodeGetAttribute(0, COOPERATIVE, (c_int * 16)())


def setting_an_attribute_of_no_node_crashes(runtime):
    runtime.cudaGraphKernelNodeSetAttribute(0, COOPERATIVE, (c_int * 16)())


def reading_an_attribute_to_null_crashes(runtime):
    _, node = _empty_kernel_node(runtime)
    runtime.cudaGraphKernelNodeGetAttribute(node, COOPERATIVE, None)


def setting_an_attribute_to_null_crashes(runtime):
    _, node = _empty_kernel_node(runtime)
    runtime.cudaGraphKernelNodeSetAttribute(node, COOPERATIVE, None)


def copying_attributes_of_no_node_crashes(runtime):
    _, node = _empty_kernel_node(runtime)
    runtime.cudaGraphKernelNodeCopyAttributes(node, 0)


def _parent(runtime):
    """A graph, its only node and the child graph in it, which has an empty node."""
    child, graph = _graph(runtime), _graph(runtime)
    _empty(runtime, child)
    return graph, runtime.handle("cudaGraphAddChildGraphNode", graph, None, 0, child), child


def no_child_graph_crashes(runtime):
    graph, _, _ = _parent(runtime)
    runtime.cudaGraphAddChildGraphNode(byref(c_void_p()), graph, None, 0, 0)


def a_graph_as_its_own_child_crashes(runtime):
    graph, _, _ = _parent(runtime)
    runtime.cudaGraphAddChildGraphNode(byref(c_void_p()), graph, None, 0, graph)


def reading_a_child_graph_to_null_crashes(runtime):
    _, node, _ = _parent(runtime)
    runtime.cudaGraphChildGraphNodeGetGraph(node, None)


def reading_a_child_graph_of_no_node_crashes(runtime):
    runtime.cudaGraphChildGraphNodeGetGraph(0, byref(c_void_p()))


def changing_a_child_graph_to_null_crashes(runtime):
    graph, node, _ = _parent(runtime)
    runtime.cudaGraphExecChildGraphNodeSetParams(_instantiate(runtime, graph), node, 0)


def changing_a_child_graph_of_null_crashes(runtime):
    _, node, child = _parent(runtime)
    runtime.cudaGraphExecChildGraphNodeSetParams(0, node, child)


def a_child_graph_that_is_destroyed_crashes(runtime):
    _, node, _ = _parent(runtime)
    child = c_void_p()
    runtime.cudaGraphChildGraphNodeGetGraph(node, byref(child))
    runtime.cudaGraphDestroy(child)


def reading_a_free_node_to_null_crashes(runtime):
    graph, params = _graph(runtime), MemAllocNodeParams(1, 0, 1, 0, bytesize=64)
    node = runtime.handle("cudaGraphAddMemAllocNode", graph, None, 0, byref(params))
    after = byref(c_void_p(node))
    free = runtime.handle("cudaGraphAddMemFreeNode", graph, after, 1, params.dptr)
    runtime.cudaGraphMemFreeNodeGetParams(free, None)


# Updates of executable graphs, and user objects.


def an_update_without_a_result_crashes(runtime):
    graph, _ = _empty_kernel_node(runtime)
    runtime.cudaGraphExecUpdate(_instantiate(runtime, graph), graph, None)


def _object(runtime):
    """A user object, whose destructor is kept alive."""
    destroy = HostFunction(lambda data: None)
    runtime.kept.append(destroy)
    return runtime.handle("cudaUserObjectCreate", 0, destroy, 1, 1)


def an_object_to_null_crashes(runtime):
    destroy = HostFunction(lambda data: None)
    runtime.cudaUserObjectCreate(None, 0, destroy, 1, 1)


def an_object_without_a_destructor_crashes(runtime):
    runtime.cudaUserObjectCreate(byref(c_void_p()), 0, None, 1, 1)


def retaining_a_null_object_crashes(runtime):
    runtime.cudaUserObjectRetain(0, 1)


def releasing_a_null_object_crashes(runtime):
    runtime.cudaUserObjectRelease(0, 1)


def an_object_in_a_null_graph_crashes(runtime):
    runtime.cudaGraphRetainUserObject(0, _object(runtime), 1, 0)


def a_null_object_in_a_graph_crashes(runtime):
    graph = _graph(runtime)
    runtime.cudaGraphRetainUserObject(graph, 0, 1, 0)


def releasing_an_object_of_a_null_graph_crashes(runtime):
    runtime.cudaGraphReleaseUserObject(0, _object(runtime), 1)


def releasing_an_object_that_a_graph_does_not_hold_crashes(runtime):
    graph = _graph(runtime)
    runtime.cudaGraphReleaseUserObject(graph, _object(runtime), 1)
