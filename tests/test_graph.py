"""Graphs: nodes that are added, their launches and descriptions, and what is refused."""

import gc
import os
import shutil
import weakref

import numpy as np
import pytest
from gate import Gate, congruential
from graphs import everything_is_done, ints, kernel, stream
from working import refused

import cupola

__all__ = ["everything_is_done", "stream"]


def test_added_nodes_equal_the_direct_run(stream):
    x, y = ints(*range(64)), ints(*[0] * 64)
    out, seen = np.zeros(64, np.int32), []
    graph = cupola.Graph()
    fill = graph.add_fill(y, 5)
    add = graph.add_kernel(kernel("accumulate"), 2, 32, x, y, 64, after=fill)
    both = graph.add_empty(after=[add, fill])
    copy = graph.add_copy(out, y, after=both)
    graph.add_host(seen.append, 9, after=copy)
    run = graph.instantiate()
    for _ in range(100):
        run(stream=stream)
    stream.synchronize()
    np.testing.assert_array_equal(out, np.arange(64) + 5)
    assert seen == [9] * 100


def test_launches_are_in_the_order_of_their_stream(stream):
    x = cupola.to_device(np.array(3, np.uint32))
    with stream.capture() as graph:
        kernel("congruential")[1, 1](x, 1)
        kernel("congruential")[1, 1](x, 2)
    run = graph.instantiate()
    with Gate(stream) as gate:
        for _ in range(10):
            run(stream)
            kernel("congruential")[1, 1, stream](x, 1)
        assert not stream.done
        gate.open()
        stream.synchronize()
    assert x.get() == congruential(3, 40)


def test_a_launch_without_a_stream_goes_to_the_current_stream(stream):
    x = ints(0)
    graph = cupola.Graph()
    graph.add_kernel(kernel(), 1, 1, x, 1)
    run = graph.instantiate()
    with Gate(stream) as gate, stream:
        run()
        run.launch()
        assert not stream.done
        gate.open()
    assert x.get() == 2


def test_child_graphs_run_and_are_updated(stream):
    x, seen = ints(0), []
    inner = cupola.Graph()
    first = inner.add_kernel(kernel(), 1, 1, x, 1)
    inner.add_host(seen.append, "inner", after=first)
    outer = cupola.Graph()
    one = outer.add_child(inner)
    two = outer.add_child(inner, after=one)
    del inner, first
    gc.collect()
    run = outer.instantiate()
    run(stream)
    run(stream)
    stream.synchronize()
    assert x.get() == 4 and seen == ["inner"] * 4
    assert [node.kind for node in one.child.nodes] == ["kernel", "host"]
    assert one.kind == two.kind == "graph"
    y = ints(0)
    run.update(two.child.nodes[0], y, 1, kernel=kernel())
    run(stream)
    stream.synchronize()
    assert (x.get(), y.get()) == (5, 1)


def test_host_nodes_keep_their_callable_and_report_its_error(stream, monkeypatch):
    import sys

    reports, seen = [], []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: reports.append(report.exc_type))

    def broken():
        raise ZeroDivisionError

    class Callable:
        def __call__(self, word):
            seen.append(word)

    graph, function = cupola.Graph(), Callable()
    gone = weakref.ref(function)
    first = graph.add_host(broken)
    graph.add_host(function, "after", after=first)
    del function
    run = graph.instantiate()
    for _ in range(3):
        run(stream)
    stream.synchronize()
    assert seen == ["after"] * 3 and reports == [ZeroDivisionError] * 3
    del run, graph, first
    gc.collect()
    assert gone() is None


def test_a_fill_writes_values_of_each_type(stream):
    for dtype, value in [
        (np.uint8, 200), (np.int16, -3), (np.float32, 1.5), (np.float64, 0), (np.int64, -1),
        (np.complex64, 0), (np.float16, 0.5), (np.bool_, True), (np.float64, 1.1),
    ]:  # fmt: skip
        x = cupola.to_device(np.ones(33, dtype))
        cupola.Device().synchronize()
        graph = cupola.Graph()
        graph.add_fill(x, value)
        graph.instantiate()(stream)
        stream.synchronize()
        np.testing.assert_array_equal(x.get(), np.full(33, value, dtype))
    with refused(cupola.ArgumentError, TypeError, saying="int16"):
        cupola.Graph().add_fill(cupola.zeros(2, np.int16), np.float32(1.5))


def test_misuse_of_a_graph_is_refused(stream):
    graph, other, x = cupola.Graph(), cupola.Graph(), ints(1, 2)
    foreign = other.add_empty()
    with refused(cupola.ArgumentError, ValueError, saying="another"):
        graph.add_empty(after=foreign)
    with refused(cupola.ArgumentError, TypeError, saying="after="):
        graph.add_empty(after=5)
    with refused(cupola.ArgumentError, TypeError, saying=["increment", "argument 1"]):
        graph.add_kernel(kernel(), 1, 1, x, "two")
    with refused(cupola.ArgumentError, ValueError, saying=["increment", "block"]):
        graph.add_kernel(kernel(), 1, 4096, x, 1)
    with refused(cupola.ArgumentError, TypeError, saying="InOut"):
        graph.add_kernel(kernel(), 1, 1, cupola.InOut(np.zeros(1, np.int32)), 1)
    with refused(cupola.ArgumentError, ValueError, saying="bytes"):
        graph.add_copy(x, np.zeros(3, np.int32))
    with refused(cupola.ArgumentError, TypeError, saying="list"):
        graph.add_copy(x, [1, 2])
    with refused(cupola.ArgumentError, TypeError, saying="callable"):
        graph.add_host(None)
    with refused(cupola.DriverError, cupola.Error):
        one = graph.add_empty()
        two = graph.add_empty(after=one)
        graph.add_edge(two, one)
        graph.instantiate()
    for make in (cupola.GraphExec, type(foreign)):
        with pytest.raises(TypeError):
            make()
    with refused(cupola.ArgumentError, TypeError, saying="Node or a Graph"):
        other.instantiate().update(5)


def test_nodes_and_graphs_describe_themselves(stream):
    x = ints(1, 2)
    graph = cupola.Graph()
    one = graph.add_kernel(kernel(), (2, 3), (4, 1, 2), x, 2, shared=64)
    two = graph.add_fill(x, 0, after=one)
    assert (one.kind, one.title, one.grid, one.block, one.shared) == (
        "kernel", "increment", (2, 3, 1), (4, 1, 2), 64
    )  # fmt: skip
    assert (two.kind, two.nbytes, two.title) == ("fill", 8, "")
    assert graph.nodes == (one, two) and graph.edges == ((one, two),)
    assert len({one, two, *graph.nodes}) == 2 and one != two
    assert repr(graph) == "<cupola.Graph of 2 nodes on device 0>"
    assert "increment" in repr(one) and repr(graph.instantiate()).startswith("<cupola.GraphExec 0x")
    assert graph.device == cupola.Device() and graph.handle and one.handle
    run = graph.instantiate()
    run.upload(stream)
    assert run.device == cupola.Device() and run.handle


def test_to_dot_names_kernels_and_edges():
    x = ints(1)
    inner = cupola.Graph()
    inner.add_kernel(kernel(), 7, 32, x, 1)
    graph = cupola.Graph()
    child = graph.add_child(inner)
    copy = graph.add_copy(x, np.zeros(1, np.int32), after=child)
    graph.add_host(print, after=[copy, child])
    dot = graph.to_dot()
    assert dot.startswith("digraph") and dot.count("->") == 3 and dot.count("{") == dot.count("}")
    for words in ("increment", "(7, 1, 1) x (32, 1, 1)", "copy", "4 bytes", "host", "n0 -> n1"):
        assert words in dot


def test_to_png_runs_graphviz(tmp_path, monkeypatch):
    graph = cupola.Graph()
    graph.add_empty(after=graph.add_empty())
    target = tmp_path / "graph.png"
    if shutil.which("dot"):
        graph.to_png(target)
        assert target.read_bytes().startswith(b"\x89PNG")
    # A program of that name, to see what it is given.
    fake = tmp_path / "bin" / "dot"
    fake.parent.mkdir()
    fake.write_text('#!/bin/sh\ncat > "$3"\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}{os.pathsep}{os.environ['PATH']}")
    graph.to_png(target)
    assert target.read_text() == graph.to_dot()
    monkeypatch.setenv("PATH", str(tmp_path))
    with refused(cupola.NotFoundError, FileNotFoundError, saying=["Graphviz", "install"]):
        graph.to_png(target)
