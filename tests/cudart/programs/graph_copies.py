"""Nodes of graphs that copy or fill memory."""

import ctypes
from ctypes import byref, c_int, c_void_p

from cudart.graph_structures import MemsetParams, copy_box
from cudart.memory_structures import Copy, Pitched
from cudart.runtime import DEFAULT, DEVICE_TO_DEVICE, DEVICE_TO_HOST, HOST_TO_DEVICE, HOST_TO_HOST


def _graph(runtime):
    return runtime.handle("cudaGraphCreate", 0)


def _empty(runtime, graph):
    return runtime.handle("cudaGraphAddEmptyNode", graph, None, 0)


def _instantiate(runtime, graph):
    return runtime.handle("cudaGraphInstantiate", graph, 0)


def _launch(runtime, exec_):
    runtime.cudaGraphLaunch(exec_, 0)
    runtime.cudaDeviceSynchronize()


def _note_copy(runtime, node):
    seen = Copy()
    runtime.cudaGraphMemcpyNodeGetParams(node, byref(seen))
    runtime.note("arrays, pointers", [bool(p) for p in (seen.from_array, seen.to_array)])
    runtime.note("from", [seen.from_position.x, seen.from_position.y, seen.from_position.z])
    runtime.note("to", [seen.to_position.x, seen.to_position.y, seen.to_position.z])
    runtime.note("extent", [seen.extent.width, seen.extent.height, seen.extent.depth])
    runtime.note("kind", seen.kind)
    for pointer in (seen.source, seen.target):
        runtime.note("pitch, xsize, ysize", [pointer.pitch, pointer.width, pointer.height])
    return seen


def copies_of_a_line(runtime):
    source, destination = runtime.upload([1, 2, 3, 4]), runtime.upload([0] * 4)
    host = (c_int * 4)(5, 6, 7, 8)
    for to, start, kind in [
        (destination, source, DEVICE_TO_DEVICE),
        (destination, source, DEFAULT),
        (destination, ctypes.addressof(host), HOST_TO_DEVICE),
        (ctypes.addressof(host), source, DEVICE_TO_HOST),
    ]:
        graph = _graph(runtime)
        node = runtime.handle("cudaGraphAddMemcpyNode1D", graph, None, 0, to, start, 16, kind)
        _note_copy(runtime, node)
        exec_ = _instantiate(runtime, graph)
        _launch(runtime, exec_)
        runtime.note("numbers", [runtime.ints(destination, 4), list(host)])
        runtime.cudaGraphExecMemcpyNodeSetParams1D(exec_, node, to, start + 4, 8, kind)
        _launch(runtime, exec_)
        runtime.note("numbers", [runtime.ints(destination, 4), list(host)])
        runtime.cudaGraphMemcpyNodeSetParams1D(node, to, start + 8, 4, kind)
        _launch(runtime, _instantiate(runtime, graph))
        runtime.note("numbers", [runtime.ints(destination, 4), list(host)])


def copies_between_hosts(runtime):
    source, destination = (c_int * 4)(1, 2, 3, 4), (c_int * 4)()
    graph = _graph(runtime)
    node = runtime.handle(
        "cudaGraphAddMemcpyNode1D", graph, None, 0, destination, source, 16, HOST_TO_HOST
    )
    _note_copy(runtime, node)
    _launch(runtime, _instantiate(runtime, graph))
    runtime.note("numbers", list(destination))


def copies_of_a_box(runtime):
    """Two rows of two numbers, of rows of four, to rows of three."""
    source, destination = runtime.upload(range(16)), runtime.upload([0] * 16)
    box = copy_box(Pitched(source, 16, 16, 2), Pitched(destination, 12, 12, 2), (8, 2, 2), 3)
    box.from_position.x, box.to_position.x, box.to_position.y = 4, 4, 0
    graph = _graph(runtime)
    node = runtime.handle("cudaGraphAddMemcpyNode", graph, None, 0, byref(box))
    seen = _note_copy(runtime, node)
    exec_ = _instantiate(runtime, graph)
    _launch(runtime, exec_)
    runtime.note("numbers", runtime.ints(destination, 16))
    box.from_position.x, box.extent.depth = 8, 1
    runtime.cudaGraphExecMemcpyNodeSetParams(exec_, node, byref(box))
    _launch(runtime, exec_)
    runtime.note("numbers", runtime.ints(destination, 16))
    runtime.cudaGraphMemcpyNodeSetParams(node, byref(box))
    runtime.cudaGraphMemcpyNodeSetParams(node, byref(seen))  # as GetParams returned it
    _note_copy(runtime, node)
    _launch(runtime, _instantiate(runtime, graph))
    runtime.note("numbers", runtime.ints(destination, 16))


def copies_with_arrays(runtime):
    """The extent and the positions on both sides count the array's elements, of 8 bytes."""
    channels = (c_int * 5)(32, 32, 0, 0, 0)
    arrays = [runtime.handle("cudaMallocArray", channels, 4, 2, 0) for _ in range(2)]
    numbers, back = runtime.upload(range(16)), runtime.upload([0] * 16)
    for kind in (HOST_TO_DEVICE, DEVICE_TO_DEVICE, DEFAULT):
        upload = copy_box(Pitched(numbers, 32, 32, 2), arrays[0], (4, 2, 1), kind)
        between = copy_box(arrays[0], arrays[1], (2, 2, 1), DEVICE_TO_DEVICE)
        between.from_position.x = 1
        download = copy_box(arrays[1], Pitched(back, 32, 32, 2), (2, 2, 1), DEVICE_TO_DEVICE)
        download.to_position.x = 1
        if kind == HOST_TO_DEVICE:
            host = (c_int * 16)(*range(100, 116))
            upload.source.pointer = ctypes.addressof(host)
        graph, before = _graph(runtime), []
        for box in (upload, between, download):
            after = (c_void_p * 1)(*before)
            node = runtime.handle("cudaGraphAddMemcpyNode", graph, after, len(before), byref(box))
            before = [node]
            _note_copy(runtime, node)
        _launch(runtime, _instantiate(runtime, graph))
        runtime.note("numbers", runtime.ints(back, 16))
        download.to_position.x = 8  # beyond the row
        runtime.cudaGraphAddMemcpyNode(byref(c_void_p()), graph, None, 0, byref(download))


def wrong_copies(runtime):
    source, destination = runtime.upload([1, 2, 3, 4]), runtime.upload([0] * 4)
    graph, made, seen = _graph(runtime), c_void_p(), Copy()
    here, there = Pitched(source, 16, 16, 1), Pitched(destination, 16, 16, 1)
    good = copy_box(here, there, (16, 1, 1), DEVICE_TO_DEVICE)
    runtime.cudaGraphAddMemcpyNode(byref(made), graph, None, 0, None)
    runtime.cudaGraphAddMemcpyNode(None, graph, None, 0, byref(good))
    runtime.cudaGraphAddMemcpyNode(byref(made), 0, None, 0, byref(good))
    for what, wrong in {
        "kind 5": copy_box(here, there, (16, 1, 1), 5),
        "kind -1": copy_box(here, there, (16, 1, 1), -1),
        "no source": copy_box(Pitched(), there, (16, 1, 1), DEVICE_TO_DEVICE),
        "no destination": copy_box(here, Pitched(), (16, 1, 1), DEVICE_TO_DEVICE),
        "no width": copy_box(here, there, (0, 1, 1), DEVICE_TO_DEVICE),
        "no height": copy_box(here, there, (16, 0, 1), DEVICE_TO_DEVICE),
        "no depth": copy_box(here, there, (16, 1, 0), DEVICE_TO_DEVICE),
        "overlapping rows": copy_box(Pitched(source, 4, 4, 2), there, (8, 2, 1), 3),
        "a row too long": copy_box(Pitched(source, 4, 4, 1), there, (8, 1, 1), 3),
        "pitch 0": copy_box(Pitched(source, 0, 0, 1), there, (8, 1, 1), 3),
    }.items():
        runtime.note("wrong", what)
        runtime.cudaGraphAddMemcpyNode(byref(made), graph, None, 0, byref(wrong))
    for to, start, kind in [
        (0, source, DEVICE_TO_DEVICE),
        (destination, 0, DEVICE_TO_DEVICE),
        (destination, source, 7),
    ]:
        runtime.cudaGraphAddMemcpyNode1D(byref(made), graph, None, 0, to, start, 4, kind)
    runtime.cudaGraphAddMemcpyNode1D(byref(made), graph, None, 0, destination, source, 0, 3)
    node = runtime.handle("cudaGraphAddMemcpyNode", graph, None, 0, byref(good))
    other = _empty(runtime, graph)
    exec_ = _instantiate(runtime, graph)
    for get in (node, other, 0):
        runtime.cudaGraphMemcpyNodeGetParams(get, None if get == node else byref(seen))
        runtime.cudaGraphMemcpyNodeSetParams(get, None if get == node else byref(good))
        runtime.cudaGraphExecMemcpyNodeSetParams(exec_, get, None if get == node else byref(good))
        wrong_kind = 7 if get == node else 3
        runtime.cudaGraphMemcpyNodeSetParams1D(get, destination, source, 16, wrong_kind)
        runtime.cudaGraphExecMemcpyNodeSetParams1D(exec_, get, destination, source, 16, wrong_kind)
    runtime.cudaGraphExecMemcpyNodeSetParams(0, node, byref(good))
    runtime.cudaGetLastError()


def copies_with_what_is_no_symbol(runtime):
    numbers, here = runtime.upload([0] * 4), c_int()
    graph, made = _graph(runtime), c_void_p()
    node = runtime.handle("cudaGraphAddMemcpyNode1D", graph, None, 0, numbers, numbers + 8, 4, 3)
    exec_ = _instantiate(runtime, graph)
    for symbol in (None, byref(here)):
        for kind in (HOST_TO_DEVICE, DEVICE_TO_HOST, DEFAULT, 9):
            to = symbol, numbers, 4, 0, kind
            back = numbers, symbol, 4, 0, kind
            runtime.cudaGraphAddMemcpyNodeToSymbol(byref(made), graph, None, 0, *to)
            runtime.cudaGraphAddMemcpyNodeFromSymbol(byref(made), graph, None, 0, *back)
            runtime.cudaGraphMemcpyNodeSetParamsToSymbol(node, *to)
            runtime.cudaGraphMemcpyNodeSetParamsFromSymbol(node, *back)
            runtime.cudaGraphExecMemcpyNodeSetParamsToSymbol(exec_, node, *to)
            runtime.cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec_, node, *back)
    runtime.cudaGetLastError()


# Fills.


def fill_nodes(runtime):
    numbers = runtime.upload([0] * 8)
    graph = _graph(runtime)
    params = MemsetParams(numbers, 0, 0x01020304, 4, 4, 1)
    node = runtime.handle("cudaGraphAddMemsetNode", graph, None, 0, byref(params))
    seen = MemsetParams()
    runtime.cudaGraphMemsetNodeGetParams(node, byref(seen))
    runtime.note("value", [seen.value, seen.elementSize, seen.width, seen.height])
    exec_ = _instantiate(runtime, graph)
    _launch(runtime, exec_)
    runtime.note("numbers", runtime.ints(numbers, 8))
    runtime.cudaGraphExecMemsetNodeSetParams(
        exec_, node, byref(MemsetParams(numbers, 0, 0x0605, 2, 8, 1))
    )
    _launch(runtime, exec_)
    runtime.note("numbers", runtime.ints(numbers, 8))
    runtime.cudaGraphMemsetNodeSetParams(node, byref(MemsetParams(numbers, 16, 7, 1, 8, 2)))
    _launch(runtime, _instantiate(runtime, graph))
    runtime.note("numbers", runtime.ints(numbers, 8))


def wrong_fills(runtime):
    numbers = runtime.upload([0] * 8)
    graph, made, seen = _graph(runtime), c_void_p(), MemsetParams()
    good = MemsetParams(numbers, 0, 1, 4, 4, 1)
    runtime.cudaGraphAddMemsetNode(byref(made), graph, None, 0, None)
    runtime.cudaGraphAddMemsetNode(None, graph, None, 0, byref(good))
    runtime.cudaGraphAddMemsetNode(byref(made), 0, None, 0, byref(good))
    for what, wrong in {
        "element of 3": MemsetParams(numbers, 0, 1, 3, 4, 1),
        "no width": MemsetParams(numbers, 0, 1, 4, 0, 1),
        "no height": MemsetParams(numbers, 0, 1, 4, 4, 0),
        "nowhere": MemsetParams(0, 0, 1, 4, 4, 1),
        "a row too long": MemsetParams(numbers, 8, 1, 4, 4, 2),
    }.items():
        runtime.note("wrong", what)
        runtime.cudaGraphAddMemsetNode(byref(made), graph, None, 0, byref(wrong))
    node = runtime.handle("cudaGraphAddMemsetNode", graph, None, 0, byref(good))
    other = _empty(runtime, graph)
    exec_ = _instantiate(runtime, graph)
    for get in (node, other, 0):
        runtime.cudaGraphMemsetNodeGetParams(get, None if get == node else byref(seen))
        runtime.cudaGraphMemsetNodeSetParams(get, None if get == node else byref(good))
        runtime.cudaGraphExecMemsetNodeSetParams(exec_, get, None if get == node else byref(good))
    runtime.cudaGraphExecMemsetNodeSetParams(0, node, byref(good))
