"""Updates of graphs with conditional nodes."""

import ctypes
import struct
from ctypes import byref, c_uint, c_uint64, c_void_p

import pytest
from driver_abi import *

from .conditions import ASSIGN, IF, SWITCH, WHILE, Conditions, graph

__all__ = ["graph"]

UPDATED, TOPOLOGY_CHANGED, UPDATE_NOT_SUPPORTED, UPDATE_FAILURE = 0, 2, 6, 910


def like(graph, kind=IF, size=1, value=7, initial=1, flags=ASSIGN, more=False):
    """Another graph: a condition, whose bodies note a number. The node and the handle."""
    other = Conditions(graph.cuda, graph.module, graph.numbers)
    handle = other.condition(initial, flags)
    node, bodies = other.choice(other, handle, kind, size)
    for body in bodies:
        other.note(body, value)
        if more:
            other.note(body, value)
        if kind == WHILE:
            other.run_kernel(body, "choose", c_uint64(handle), c_uint(0))
    return other, node


def update(graph, ready, other):
    """The call's code, why not, and which node."""
    info = ctypes.create_string_buffer(24)
    code = graph.cuda.code("cuGraphExecUpdate_v2", ready, other.handle, info)
    return code, *struct.unpack("iiQ", info.raw[:16])[::2]


@pytest.mark.parametrize(
    "change, noted",
    [({}, [7]), ({"value": 8}, [8]), ({"initial": 0}, []), ({"initial": 5, "value": 9}, [9])],
)
def test_an_update_by_a_graph_with_a_condition_of_its_own(graph, change, noted):
    """From then on default and handle are those of the other graph."""
    base, _ = like(graph)
    ready, (other, _) = base.ready(), like(graph, **change)
    assert update(graph, ready, other)[:2] == (SUCCESS, UPDATED)
    graph.cuda.cuGraphDestroy(other.handle)
    for _ in range(2):
        graph.cuda.cuGraphLaunch(ready, 0)
        graph.cuda.cuCtxSynchronize()
        assert graph.noted() == noted
    # The condition of the first graph stays taken until the executable graph is gone.
    assert graph.cuda.code("cuGraphInstantiateWithFlags", byref(c_void_p()), base.handle, 0) == 801
    graph.cuda.cuGraphExecDestroy(ready)
    graph.cuda.cuGraphExecDestroy(base.ready())
    graph.cuda.cuGraphDestroy(base.handle)


def test_kernels_of_an_update_set_their_own_condition(graph):
    """The body ends the loop by the handle of its own graph."""
    base, _ = like(graph, WHILE)
    ready, (other, _) = base.ready(), like(graph, WHILE, value=6)
    assert update(graph, ready, other)[:2] == (SUCCESS, UPDATED)
    graph.cuda.cuGraphLaunch(ready, 0)
    graph.cuda.cuCtxSynchronize()
    assert graph.noted() == [6]
    graph.cuda.cuGraphExecDestroy(ready)
    for each in (base, other):
        graph.cuda.cuGraphDestroy(each.handle)


@pytest.mark.parametrize(
    "change, why",
    [
        ({"kind": WHILE, "initial": 0}, UPDATE_NOT_SUPPORTED),
        ({"kind": SWITCH, "initial": 0}, UPDATE_NOT_SUPPORTED),
        ({"size": 2}, UPDATE_NOT_SUPPORTED),
        ({"more": True}, TOPOLOGY_CHANGED),
    ],
)
def test_an_update_that_changes_a_condition_is_refused(graph, change, why):
    base, _ = like(graph)
    ready, (other, node) = base.ready(), like(graph, **change)
    code, result, where = update(graph, ready, other)
    assert (code, result) == (UPDATE_FAILURE, why)
    assert where == (node if why == UPDATE_NOT_SUPPORTED else 0)
    graph.cuda.cuGraphLaunch(ready, 0)
    graph.cuda.cuCtxSynchronize()
    assert graph.noted() == [7]
    graph.cuda.cuGraphExecDestroy(ready)
    for each in (base, other):
        graph.cuda.cuGraphDestroy(each.handle)
