"""Capture of a stream into a graph: nodes, other libraries' captures, and errors."""

import ctypes
import gc

import numpy as np
import pytest
from graphs import everything_is_done, ints, kernel, stream
from working import refused

import cupola

__all__ = ["everything_is_done", "stream"]


def pipeline(stream, x, y, out, host):
    """A fill, kernels and copies of each direction."""
    n = x.size
    x.set(host, stream=stream)
    kernel()[-(-n // 64), 64, stream](x, n)
    y.set(x, stream=stream)
    kernel()[-(-n // 64), 64, stream](y, n)
    kernel("accumulate")[-(-n // 64), 64, stream](x, y, n)
    y.get(out=out, stream=stream)


def test_a_captured_pipeline_equals_the_direct_run(stream):
    n = 1000
    x, y = cupola.empty(n, np.int32, stream=stream), cupola.empty(n, np.int32, stream=stream)
    host, out = cupola.empty_pinned(n, np.int32), cupola.empty_pinned(n, np.int32)
    host[:], out[:] = np.arange(n), 0
    cupola.Device().synchronize()
    with stream.capture() as graph:
        assert stream.capturing and cupola.Stream.current() == stream
        pipeline(stream, x, y, out, host)
    assert not stream.capturing
    assert [node.kind for node in graph.nodes] == [
        "copy", "kernel", "copy", "kernel", "kernel", "copy"
    ]  # fmt: skip
    stream.synchronize()
    assert not out.any()
    run, direct = graph.instantiate(), cupola.empty_pinned(n, np.int32)
    for turn in range(100):
        host[:] = np.arange(n) * turn - 7
        out[:] = 0
        run(stream)
        stream.synchronize()
        expected = (host + 1) + (host + 2)
        np.testing.assert_array_equal(out, expected)
    pipeline(stream, x, y, direct, host)
    stream.synchronize()
    np.testing.assert_array_equal(direct, out)


def test_a_launch_in_a_capture_becomes_a_child_graph(stream):
    x, seen = ints(0), []
    with stream.capture() as inner:
        kernel()[1, 1](x, 1)
        stream.launch_host_func(seen.append, 1)
    part = inner.instantiate()
    with stream.capture() as outer:
        part()
        part(stream)
    del part, inner
    gc.collect()
    assert [node.kind for node in outer.nodes] == ["graph", "graph"]
    run = outer.instantiate()
    run(stream)
    stream.synchronize()
    assert x.get() == 2 and seen == [1, 1]


def test_a_launch_in_a_capture_has_the_updated_arguments(stream):
    x, y, z = ints(0), ints(0), ints(0)
    graph = cupola.Graph()
    node = graph.add_kernel(kernel(), 1, 1, x, 1)
    part = graph.instantiate()
    graph.add_kernel(kernel(), 1, 1, z, 1)  # is none of what was made ready
    part.update(node, y, 1)
    with stream.capture() as outer:
        kernel()[1, 1](y, 1)
        part()
        kernel("accumulate")[1, 1](y, x, 1)
    run = outer.instantiate()
    run(stream)
    stream.synchronize()
    assert (x.get(), y.get(), z.get()) == (2, 2, 0)
    assert [node.kind for node in outer.nodes] == ["kernel", "graph", "kernel"]
    assert len(outer.edges) == 2
    other = cupola.Graph()
    other.add_kernel(kernel(), 1, 1, z, 1)
    part.update(other)
    with stream.capture() as outer:
        part()
    outer.instantiate()(stream)
    stream.synchronize()
    assert (y.get(), z.get()) == (2, 1)


def test_a_launch_in_another_librarys_capture_is_refused(stream):
    """Objects that are destroyed during that capture do not disturb it."""
    x, graph, seen = ints(0), cupola.Graph(), ctypes.c_void_p()
    graph.add_kernel(kernel(), 1, 1, x, 1)
    run = graph.instantiate()
    native = ctypes.CDLL(cupola.driver.info().path)
    handle, ended = ctypes.c_void_p(stream.handle), [graph.instantiate(), cupola.Event()]
    assert native.cuStreamBeginCapture_v2(handle, 1) == 0
    kernel()[1, 1, stream](x, 1)
    ended.clear()
    assert native.cuStreamEndCapture(handle, ctypes.byref(seen)) == 0
    assert native.cuGraphDestroy(seen) == 0
    assert native.cuStreamBeginCapture_v2(handle, 1) == 0
    with pytest.raises(cupola.DriverError, match="captured by another library"):
        run(stream)
    native.cuStreamEndCapture(handle, ctypes.byref(seen))
    run(stream)
    stream.synchronize()
    assert x.get() == 1


def test_memory_in_another_librarys_graph_is_not_reused(stream):
    """cupola cannot know how long that graph uses memory that an expression released."""
    native = ctypes.CDLL(cupola.driver.info().path)
    handle, graph, run = ctypes.c_void_p(stream.handle), ctypes.c_void_p(), ctypes.c_void_p()
    with stream:
        x = cupola.ones(1000, np.float32)
        assert ((2 * x + x).get() == 3).all()  # leaves two pieces in the pool
        assert native.cuStreamBeginCapture_v2(handle, 1) == 0
        y = 2 * x + x
        assert native.cuStreamEndCapture(handle, ctypes.byref(graph)) == 0
        others = [cupola.full(1000, 7, np.float32) for _ in range(10)]
        assert native.cuGraphInstantiateWithFlags(ctypes.byref(run), graph, 0) == 0
        assert native.cuGraphLaunch(run, handle) == 0
        assert all((other.get() == 7).all() for other in others)
        assert (y.get() == 3).all()
        there = y.address
        del y
        assert all((2 * x).address != there for _ in range(20))
        stream.synchronize()
    assert native.cuGraphExecDestroy(run) == native.cuGraphDestroy(graph) == 0


def test_a_launch_with_an_updated_child_graph_is_refused_in_a_capture(stream):
    x, inner, outer = ints(0), cupola.Graph(), cupola.Graph()
    inner.add_kernel(kernel(), 1, 1, x, 1)
    part = outer.add_child(inner)
    run = outer.instantiate()
    run.update(part.child.nodes[0], x, 1, kernel=kernel())
    with stream.capture() as graph:
        with pytest.raises(cupola.ArgumentError, match="a node of a child graph was updated"):
            run()
        kernel()[1, 1](x, 1)
    assert len(graph.nodes) == 1  # the capture goes on
    run(stream)
    stream.synchronize()
    assert x.get() == 1


def test_a_fork_and_a_join_become_edges(stream):
    other, x, y = cupola.Stream(non_blocking=True), ints(1), ints(1)
    total = ints(0)
    with stream.capture() as graph:
        kernel()[1, 1](x, 1)
        other.wait(stream)
        kernel()[1, 1, other](y, 1)
        kernel()[1, 1](x, 1)
        stream.wait(other)
        kernel("accumulate")[1, 1](x, total, 1)
        kernel("accumulate")[1, 1](y, total, 1)
    first, side, second, join, last = graph.nodes
    assert set(graph.edges) == {
        (first, side), (first, second), (side, join), (second, join), (join, last)
    }  # fmt: skip
    run = graph.instantiate()
    run(stream)
    stream.synchronize()
    assert total.get() == 3 + 2


def test_a_refused_call_leaves_the_capture_valid(stream):
    """cupola refuses the call before the driver sees it."""
    x = ints(0)
    with stream.capture() as graph:
        kernel()[1, 1](x, 1)
        for wrong in (stream.synchronize, lambda: stream.done):
            with pytest.raises(cupola.ArgumentError, match="captured"):
                wrong()
        with pytest.raises(cupola.ArgumentError, match="captured"):
            kernel()[1, 1](cupola.InOut(np.zeros(1, np.int32)), 1)
    assert len(graph.nodes) == 1
    run = graph.instantiate()
    run(stream)
    stream.synchronize()
    assert x.get() == 1


def test_an_invalidated_capture_is_reported(stream):
    native = ctypes.CDLL(cupola.driver.info().path)
    with refused(cupola.DriverError, saying="capture"), stream.capture() as graph:
        assert native.cuCtxSynchronize() != 0  # as a call of another library
    with refused(cupola.ArgumentError, saying="capture"):
        graph.instantiate()
    x = ints(0)
    kernel()[1, 1, stream](x, 1)
    stream.synchronize()
    assert x.get() == 1


def test_an_error_in_the_block_ends_the_capture(stream):
    x = ints(0)
    with pytest.raises(ZeroDivisionError), stream.capture() as graph:
        kernel()[1, 1](x, 1)
        raise ZeroDivisionError
    assert not stream.capturing and cupola.Stream.current() != stream
    with refused(cupola.ArgumentError, saying="capture"):
        graph.nodes  # noqa: B018
    kernel()[1, 1, stream](x, 1)
    stream.synchronize()
    assert x.get() == 1


def test_a_fork_without_a_join_is_an_error(stream):
    other, x = cupola.Stream(non_blocking=True), ints(0)
    with refused(cupola.DriverError, saying=["UNJOINED", "wait"]), stream.capture():
        kernel()[1, 1](x, 1)
        other.wait(stream)
        kernel()[1, 1, other](x, 1)


def test_a_capture_that_can_not_begin_is_refused(stream):
    with refused(cupola.ArgumentError, ValueError, saying="legacy"):
        cupola.Stream.legacy().capture().__enter__()
    with refused(cupola.ArgumentError, ValueError, saying="thread_local"):
        stream.capture(mode="strict")
    with stream.capture(), pytest.raises(cupola.ArgumentError, match="captured"):
        stream.capture().__enter__()
    capture = stream.capture()
    with capture:
        pass
    with refused(cupola.ArgumentError, ValueError, saying="once"):
        capture.__enter__()
