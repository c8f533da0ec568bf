"""Misuse of graphs."""

import ctypes
from ctypes import byref, c_void_p

from driver_abi import *

from .world import NULL, cases, out, packed


def pair(w):
    """A graph of two nodes, the second after the first: graph, first, second."""
    graph = w.graph()
    first = w.node(graph)
    second = w.made("cuGraphAddEmptyNode", graph, byref(c_void_p(first)), 1)
    return graph, first, second


def edge(first, second):
    return byref(c_void_p(first)), byref(c_void_p(second))


cases(
    cuGraphCreate={
        "null": lambda w: w.cuGraphCreate(NULL, 0),
        "flags": lambda w: w.cuGraphCreate(out(), 1),
        "without a context": lambda w: w.without_context(lambda: w.cuGraphCreate(out(), 0)),
    },
    cuGraphDestroy={"null": lambda w: w.cuGraphDestroy(0)},
    cuGraphDestroyNode={"null": lambda w: w.cuGraphDestroyNode(0)},
    cuGraphAddEmptyNode={
        "null": lambda w: w.cuGraphAddEmptyNode(NULL, w.graph(), NULL, 0),
        "null graph": lambda w: w.cuGraphAddEmptyNode(out(), 0, NULL, 0),
        "null dependencies": lambda w: w.cuGraphAddEmptyNode(out(), w.graph(), NULL, 1),
        "another graph's node": lambda w: w.cuGraphAddEmptyNode(
            out(), w.graph(), byref(c_void_p(w.node(w.graph()))), 1
        ),
        "the same twice": lambda w: (
            lambda g: (lambda n: w.cuGraphAddEmptyNode(out(), g, (c_void_p * 2)(n, n), 2))(
                w.node(g)
            )
        )(w.graph()),
    },
    cuGraphAddKernelNode_v2={
        "null": lambda w: w.cuGraphAddKernelNode_v2(out(), w.graph(), NULL, 0, NULL),
        "no grid": lambda w: w.cuGraphAddKernelNode_v2(
            out(), w.graph(), NULL, 0, w.kernel_node(grid=(0, 1, 1))
        ),
        "no function": lambda w: w.cuGraphAddKernelNode_v2(
            out(), w.graph(), NULL, 0, w.kernel_node(0)
        ),
        "block too large": lambda w: w.cuGraphAddKernelNode_v2(
            out(), w.graph(), NULL, 0, w.kernel_node(block=(2048, 1, 1))
        ),
    },
    cuGraphKernelNodeGetParams_v2={
        "an empty node": lambda w: w.cuGraphKernelNodeGetParams_v2(w.node(w.graph()), out()),
        "null": lambda w: w.cuGraphKernelNodeGetParams_v2(0, out()),
    },
    cuGraphAddMemcpyNode={
        "null": lambda w: w.cuGraphAddMemcpyNode(out(), w.graph(), NULL, 0, NULL, w.context),
    },
    cuGraphAddMemsetNode={
        "null": lambda w: w.cuGraphAddMemsetNode(out(), w.graph(), NULL, 0, NULL, w.context),
        "element of 3": lambda w: w.cuGraphAddMemsetNode(
            out(), w.graph(), NULL, 0, packed("QQIIQQ", w.memory, 0, 1, 3, 4, 1), w.context
        ),
        "no width": lambda w: w.cuGraphAddMemsetNode(
            out(), w.graph(), NULL, 0, packed("QQIIQQ", w.memory, 0, 1, 4, 0, 1), w.context
        ),
        "nowhere": lambda w: w.cuGraphAddMemsetNode(
            out(), w.graph(), NULL, 0, packed("QQIIQQ", 0, 0, 1, 4, 4, 1), w.context
        ),
    },
    cuGraphAddHostNode={
        "null": lambda w: w.cuGraphAddHostNode(out(), w.graph(), NULL, 0, NULL),
        "no function": lambda w: w.cuGraphAddHostNode(
            out(), w.graph(), NULL, 0, packed("QQ", 0, 0)
        ),
    },
    cuGraphAddChildGraphNode={
        "null": lambda w: w.cuGraphAddChildGraphNode(out(), w.graph(), NULL, 0, 0),
        "itself": lambda w: (lambda g: w.cuGraphAddChildGraphNode(out(), g, NULL, 0, g))(w.graph()),
    },
    cuGraphAddEventRecordNode={
        "null": lambda w: w.cuGraphAddEventRecordNode(out(), w.graph(), NULL, 0, 0),
    },
    cuGraphAddEventWaitNode={
        "null": lambda w: w.cuGraphAddEventWaitNode(out(), w.graph(), NULL, 0, 0),
    },
    cuGraphAddMemAllocNode={
        "null": lambda w: w.cuGraphAddMemAllocNode(out(), w.graph(), NULL, 0, NULL),
        "nothing": lambda w: w.cuGraphAddMemAllocNode(
            out(), w.graph(), NULL, 0, packed("iiiiQQ56xQQQQ", 1, 0, 1, 0, 0, 0, 0, 0, 0, 0)
        ),
        "wrong device": lambda w: w.cuGraphAddMemAllocNode(
            out(), w.graph(), NULL, 0, packed("iiiiQQ56xQQQQ", 1, 0, 1, 99, 0, 0, 0, 0, 64, 0)
        ),
        "to be shared": lambda w: w.cuGraphAddMemAllocNode(
            out(), w.graph(), NULL, 0, packed("iiiiQQ56xQQQQ", 1, 1, 1, 0, 0, 0, 0, 0, 64, 0)
        ),
        "kind 0": lambda w: w.cuGraphAddMemAllocNode(
            out(), w.graph(), NULL, 0, packed("iiiiQQ56xQQQQ", 0, 0, 1, 0, 0, 0, 0, 0, 64, 0)
        ),
    },
    cuGraphAddMemFreeNode={
        "null": lambda w: w.cuGraphAddMemFreeNode(out(), w.graph(), NULL, 0, 0),
        "nowhere": lambda w: w.cuGraphAddMemFreeNode(out(), w.graph(), NULL, 0, 0x1234000),
        "what no graph allocated": lambda w: w.cuGraphAddMemFreeNode(
            out(), w.graph(), NULL, 0, w.memory
        ),
    },
    cuGraphAddBatchMemOpNode={
        "null": lambda w: w.cuGraphAddBatchMemOpNode(out(), w.graph(), NULL, 0, NULL),
        "none": lambda w: w.cuGraphAddBatchMemOpNode(
            out(), w.graph(), NULL, 0, packed("QIxxxxQIxxxx", w.context, 0, 0, 0)
        ),
    },
    cuGraphAddNode_v2={
        "null": lambda w: w.cuGraphAddNode_v2(out(), w.graph(), NULL, NULL, 0, NULL),
        "unknown kind": lambda w: w.cuGraphAddNode_v2(
            out(), w.graph(), NULL, NULL, 0, packed("i252x", 99)
        ),
        "an empty one": lambda w: w.cuGraphAddNode_v2(
            out(), w.graph(), NULL, NULL, 0, packed("i252x", 5)
        ),
        "reserved bytes": lambda w: w.cuGraphAddNode_v2(
            out(), w.graph(), NULL, NULL, 0, packed("ii248x", 5, 1)
        ),
        "a conditional one without a handle": lambda w: w.cuGraphAddNode_v2(
            out(), w.graph(), NULL, NULL, 0, packed("i12xQiIQQ208x", 13, 0, 0, 1, 0, w.context)
        ),
    },
    cuGraphConditionalHandleCreate={
        "null": lambda w: w.cuGraphConditionalHandleCreate(NULL, w.graph(), w.context, 0, 0),
        "null graph": lambda w: w.cuGraphConditionalHandleCreate(out(), 0, w.context, 0, 0),
        "flags": lambda w: w.cuGraphConditionalHandleCreate(out(), w.graph(), w.context, 0, 8),
    },
    cuGraphAddDependencies={
        "a cycle": lambda w: (lambda g, a, b: w.cuGraphAddDependencies(g, *edge(b, a), 1))(
            *pair(w)
        ),
        "itself": lambda w: (lambda g, a, b: w.cuGraphAddDependencies(g, *edge(a, a), 1))(*pair(w)),
        "there already": lambda w: (lambda g, a, b: w.cuGraphAddDependencies(g, *edge(a, b), 1))(
            *pair(w)
        ),
        "another graph's": lambda w: (
            lambda g, a, b: w.cuGraphAddDependencies(g, *edge(a, w.node(w.graph())), 1)
        )(*pair(w)),
        "null": lambda w: w.cuGraphAddDependencies(w.graph(), NULL, NULL, 1),
        "none": lambda w: w.cuGraphAddDependencies(w.graph(), NULL, NULL, 0),
    },
    cuGraphRemoveDependencies={
        "not there": lambda w: (lambda g, a, b: w.cuGraphRemoveDependencies(g, *edge(b, a), 1))(
            *pair(w)
        ),
    },
    cuGraphGetNodes={
        "null": lambda w: w.cuGraphGetNodes(w.graph(), NULL, NULL),
        "null graph": lambda w: w.cuGraphGetNodes(0, NULL, out()),
    },
    cuGraphGetEdges={"null": lambda w: w.cuGraphGetEdges(w.graph(), NULL, NULL, NULL)},
    cuGraphNodeGetType={
        "null": lambda w: w.cuGraphNodeGetType(w.node(w.graph()), NULL),
        "null node": lambda w: w.cuGraphNodeGetType(0, out()),
    },
    cuGraphClone={
        "null": lambda w: w.cuGraphClone(NULL, w.graph()),
        "null graph": lambda w: w.cuGraphClone(out(), 0),
    },
    cuGraphNodeFindInClone={
        "no clone": lambda w: (lambda g, a, b: w.cuGraphNodeFindInClone(out(), a, w.graph()))(
            *pair(w)
        ),
    },
    cuGraphInstantiateWithFlags={
        "null": lambda w: w.cuGraphInstantiateWithFlags(NULL, w.graph(), 0),
        "null graph": lambda w: w.cuGraphInstantiateWithFlags(out(), 0, 0),
        "flags": lambda w: w.cuGraphInstantiateWithFlags(out(), w.graph(), 0x100),
        "nothing in it": lambda w: w.cuGraphInstantiateWithFlags(out(), w.graph(), 0),
    },
    cuGraphLaunch={
        "null": lambda w: w.cuGraphLaunch(0, 0),
    },
    cuGraphExecDestroy={"null": lambda w: w.cuGraphExecDestroy(0)},
    cuGraphExecUpdate_v2={
        "another shape": lambda w: w.cuGraphExecUpdate_v2(
            w.ready(w.graph(1)), w.graph(2), ctypes.create_string_buffer(64)
        ),
        "null": lambda w: w.cuGraphExecUpdate_v2(w.ready(w.graph(1)), w.graph(1), NULL),
        "null graph": lambda w: w.cuGraphExecUpdate_v2(
            w.ready(w.graph(1)), 0, ctypes.create_string_buffer(64)
        ),
    },
    cuGraphExecKernelNodeSetParams_v2={
        "an empty node": lambda w: (
            lambda g, a, b: w.cuGraphExecKernelNodeSetParams_v2(w.ready(g), a, w.kernel_node())
        )(*pair(w)),
    },
    cuGraphNodeSetEnabled={
        "an empty node": lambda w: (lambda g, a, b: w.cuGraphNodeSetEnabled(w.ready(g), a, 0))(
            *pair(w)
        ),
        "another graph's": lambda w: (
            lambda g, a, b: w.cuGraphNodeSetEnabled(w.ready(g), w.node(w.graph()), 0)
        )(*pair(w)),
    },
    cuGraphNodeGetEnabled={
        "an empty node": lambda w: (lambda g, a, b: w.cuGraphNodeGetEnabled(w.ready(g), a, out()))(
            *pair(w)
        ),
        "null": lambda w: (lambda g, a, b: w.cuGraphNodeGetEnabled(w.ready(g), a, NULL))(*pair(w)),
    },
    cuGraphKernelNodeSetAttribute={
        "an empty node": lambda w: w.cuGraphKernelNodeSetAttribute(
            w.node(w.graph()), 8, packed("i60x", 0)
        ),
    },
    cuGraphDebugDotPrint={
        "null": lambda w: w.cuGraphDebugDotPrint(w.graph(), NULL, 0),
        "no folder": lambda w: w.cuGraphDebugDotPrint(w.graph(), b"/nowhere/to/be.dot", 0),
    },
    cuUserObjectCreate={
        "null": lambda w: w.cuUserObjectCreate(NULL, NULL, HostFunction(lambda _: None), 1, 1),
        "no function": lambda w: w.cuUserObjectCreate(out(), NULL, NULL, 1, 1),
        "no count": lambda w: w.cuUserObjectCreate(out(), NULL, HostFunction(lambda _: None), 0, 1),
        "no flags": lambda w: w.cuUserObjectCreate(out(), NULL, HostFunction(lambda _: None), 1, 0),
    },
    cuUserObjectRetain={"null": lambda w: w.cuUserObjectRetain(0, 1)},
    cuUserObjectRelease={"null": lambda w: w.cuUserObjectRelease(0, 1)},
    cuGraphRetainUserObject={
        "null": lambda w: w.cuGraphRetainUserObject(w.graph(), 0, 1, 0),
    },
    cuGetExportTable={
        "null": lambda w: w.cuGetExportTable(NULL, out()),
    },
    cuProfilerStart={"none": lambda w: w.without_context(lambda: w.cuProfilerStart())},
)
