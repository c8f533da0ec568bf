"""Graphs: what is captured or added equals the direct run, each time."""

import ctypes
import gc
import os
import shutil
import threading
import weakref

import images
import numpy as np
import pytest
from gate import Gate, congruential
from working import refused

import cupola


@pytest.fixture(autouse=True)
def everything_is_done(driver):
    yield
    cupola.Device().synchronize()


@pytest.fixture
def stream():
    return cupola.Stream(non_blocking=True)


def ints(*values):
    there = cupola.to_device(np.array(values, np.int32))
    cupola.Device().synchronize()
    return there


def kernel(name="increment"):
    return images.module()[name]


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


def test_the_current_stream_is_what_a_launch_goes_to(stream):
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


def test_one_argument_after_another_is_updated(stream):
    x, y, total = ints(1, 1, 1, 1), ints(10, 10, 10, 10), ints(0, 0, 0, 0)
    graph = cupola.Graph()
    first = graph.add_kernel(kernel("accumulate"), 1, 4, x, total, 4)
    graph.add_kernel(kernel(), 1, 4, total, 4, after=first)
    run = graph.instantiate()
    run(stream)
    run.update(first, y, total, 2)
    run(stream)
    run.update(first, x, total, 4)
    run(stream)
    run.update(first, x, total, 4, grid=1, block=2)
    run(stream)
    stream.synchronize()
    np.testing.assert_array_equal(total.get(), [1 + 10 + 1 + 1 + 4] * 2 + [1 + 0 + 1 + 0 + 4] * 2)
    again = graph.instantiate()  # the graph is as it was
    total.set(np.zeros(4, np.int32))
    cupola.Device().synchronize()
    again(stream)
    stream.synchronize()
    np.testing.assert_array_equal(total.get(), [2] * 4)


def test_updates_do_not_touch_what_was_launched(stream):
    """Each launch has the arguments of its time, whether or not it has begun."""
    values, out = [ints(n) for n in range(20)], ints(0)
    graph = cupola.Graph()
    node = graph.add_kernel(kernel("accumulate"), 1, 1, values[0], out, 1)
    run = graph.instantiate()
    with Gate(stream):
        for value in values:
            run.update(node, value, out, 1)
            run(stream)
        del value
        values.clear()  # behind the launches only
        gc.collect()
    assert out.get() == sum(range(20))


def test_a_captured_node_is_updated_with_its_kernel_named(stream):
    x = ints(0, 0)
    with stream.capture() as graph:
        kernel()[1, 2](x, 1)
    (node,) = graph.nodes
    run = graph.instantiate()
    with refused(cupola.ArgumentError, TypeError, saying="kernel="):
        run.update(node, x, 2)
    run.update(node, x, 2, kernel=kernel())
    run(stream)
    stream.synchronize()
    assert x.get().tolist() == [1, 1]


def test_update_by_another_graph(stream):
    x, y = ints(0), ints(0)

    def build(target, times):
        graph, last = cupola.Graph(), None
        for _ in range(times):
            last = graph.add_kernel(kernel(), 1, 1, target, 1, after=last)
        return graph

    run = build(x, 2).instantiate()
    run.update(build(y, 2))
    run(stream)
    stream.synchronize()
    assert (x.get(), y.get()) == (0, 2)
    with refused(cupola.DriverError, saying=["CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "nodes"]):
        run.update(build(y, 3))
    run(stream)
    stream.synchronize()
    assert y.get() == 4


def test_child_graphs(stream):
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


def test_a_launch_in_a_capture_becomes_a_part(stream):
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


def test_a_launch_in_a_capture_is_of_what_was_updated(stream):
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
    """And what ends in it is none of its matters."""
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


def test_another_librarys_graph_shares_no_memory_with_what_comes_later(stream):
    """Nobody tells cupola how long that graph uses what an expression in it has let go."""
    native = ctypes.CDLL(cupola.driver.info().path)
    handle, graph, run = ctypes.c_void_p(stream.handle), ctypes.c_void_p(), ctypes.c_void_p()
    with stream:
        x = cupola.ones(1000, np.float32)
        assert ((2 * x + x).get() == 3).all()  # which leaves two pieces
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


def test_an_updated_graph_within_is_no_part_of_a_capture(stream):
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


def test_host_nodes_hold_and_report(stream, monkeypatch):
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


def test_fork_and_join_over_streams(stream):
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


def test_what_can_not_be_captured_is_refused_and_goes_no_further(stream):
    """cupola says so itself, and the capture goes on."""
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


def test_a_spoilt_capture_is_reported(stream):
    with refused(cupola.DriverError, saying="capture"):  # noqa: SIM117
        with stream.capture() as graph:
            with pytest.raises(cupola.DriverError):
                cupola.Device().synchronize()
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


def test_a_stream_that_is_not_joined(stream):
    other, x = cupola.Stream(non_blocking=True), ints(0)
    with refused(cupola.DriverError, saying=["UNJOINED", "wait"]), stream.capture():
        kernel()[1, 1](x, 1)
        other.wait(stream)
        kernel()[1, 1, other](x, 1)


def test_captures_that_can_not_begin(stream):
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


def test_threads_capture_side_by_side():
    """Each its own stream, its own allocations, its own modules' kernels; and plain work beside."""
    results = {}

    def capture(number):
        stream = cupola.Stream(non_blocking=True)
        for turn in range(20):
            x = cupola.zeros(32, np.int32, stream=stream)
            with stream.capture() as graph:
                y = cupola.empty(32, np.int32)
                kernel()[1, 32](x, 32)
                y.set(x)
                for _ in range(number):
                    kernel()[1, 32](y, 32)
            run = graph.instantiate()
            run(stream)
            run(stream)
            results[number, turn] = y.get(stream=stream, out=np.empty(32, np.int32)).tolist()

    def plain():
        stream = cupola.Stream(non_blocking=True)
        for turn in range(60):
            x = cupola.zeros(32, np.int32, stream=stream)
            kernel()[1, 32, stream](x, 32)
            stream.synchronize()
            results["plain", turn] = x.get(stream=stream, out=np.empty(32, np.int32)).tolist()

    threads = [threading.Thread(target=capture, args=(n,)) for n in range(3)]
    threads.append(threading.Thread(target=plain))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    assert results == {
        **{(n, turn): [2 + n] * 32 for n in range(3) for turn in range(20)},
        **{("plain", turn): [1] * 32 for turn in range(60)},
    }


def test_threads_launch_one_graph():
    x = ints(0)
    graph = cupola.Graph()
    last = None
    for _ in range(3):
        last = graph.add_kernel(kernel(), 1, 1, x, 1, after=last)
    run = graph.instantiate()

    def work():
        stream = cupola.Stream(non_blocking=True)
        for _ in range(50):
            run(stream)
        stream.synchronize()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert x.get() == 4 * 50 * 3


def test_threads_of_graphs_with_host_nodes_do_not_stand_still():
    """Launches with and without Python's lock, and callables that want it."""
    counts = [0] * 4

    def work(number):
        stream, x = cupola.Stream(non_blocking=True), cupola.zeros(1, np.int32)
        graph = cupola.Graph()
        one = graph.add_kernel(kernel(), 1, 1, x, 1)

        def count():
            counts[number] += 1

        if number % 2:
            graph.add_host(count, after=one)
        run = graph.instantiate()
        for _ in range(300):
            run(stream)
        stream.synchronize()

    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
        assert not thread.is_alive()
    assert counts == [0, 300, 0, 300]


def test_fills(stream):
    for dtype, value in [
        (np.uint8, 200), (np.int16, -3), (np.float32, 1.5), (np.float64, 0), (np.int64, -1),
        (np.complex64, 0), (np.float16, 0.5), (np.bool_, True),
    ]:  # fmt: skip
        x = cupola.to_device(np.ones(33, dtype))
        cupola.Device().synchronize()
        graph = cupola.Graph()
        graph.add_fill(x, value)
        graph.instantiate()(stream)
        stream.synchronize()
        np.testing.assert_array_equal(x.get(), np.full(33, value, dtype))
    with refused(cupola.ArgumentError, ValueError, saying="four bytes"):
        cupola.Graph().add_fill(cupola.zeros(2, np.float64), 1.1)


def test_misuse(stream):
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


def test_what_it_says_of_itself(stream):
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


def test_dot():
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


def test_png(tmp_path, monkeypatch):
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
