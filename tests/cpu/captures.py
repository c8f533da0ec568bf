"""Streams that capture, and the graph and status of a capture."""

from ctypes import byref, c_int, c_size_t, c_void_p

import pytest
from driver_abi import *

GLOBAL, THREAD_LOCAL, RELAXED = range(3)
NONE, ACTIVE, INVALIDATED = range(3)
ILLEGAL_STATE, UNSUPPORTED, SPOILED, MERGE, UNMATCHED, UNJOINED = 401, 900, 901, 902, 903, 904
ISOLATION, IMPLICIT, CAPTURED_EVENT, WRONG_THREAD = 905, 906, 907, 908
SET_DEPENDENCIES = 1


@pytest.fixture
def streams(cuda):
    made = []

    def make(flags=NON_BLOCKING):
        made.append(cuda.stream(flags))
        return made[-1]

    yield make
    for stream in made:
        cuda.code("cuStreamEndCapture", stream, byref(c_void_p()))
        cuda.cuStreamDestroy_v2(stream)


def end(cuda, stream):
    graph = c_void_p()
    return cuda.code("cuStreamEndCapture", stream, byref(graph)), graph.value


def status(cuda, stream):
    now = c_int(-1)
    cuda.cuStreamIsCapturing(stream, byref(now))
    return now.value


def nodes(cuda, graph):
    count = c_size_t()
    cuda.cuGraphGetNodes(graph, c_void_p(), byref(count))
    found = (c_void_p * count.value)()
    cuda.cuGraphGetNodes(graph, found, byref(count))
    return list(found)


def types(cuda, graph):
    kind, found = c_int(), []
    for node in nodes(cuda, graph):
        cuda.cuGraphNodeGetType(node, byref(kind))
        found.append(kind.value)
    return found


def launch(cuda, graph, stream, times=1):
    ready = c_void_p()
    cuda.cuGraphInstantiateWithFlags(byref(ready), graph, 0)
    for _ in range(times):
        cuda.cuGraphLaunch(ready, stream)
    cuda.cuStreamSynchronize(stream)
    cuda.cuGraphExecDestroy(ready)
