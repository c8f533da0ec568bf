"""The remedies that errors of graphs and captures print: a program that follows them works."""

import numpy as np
import pytest
from graphs import everything_is_done, ints, kernel, stream
from working import refused

import cupola

__all__ = ["everything_is_done", "stream"]
# How a program gives a kernel a host array: the launch that is refused, and the way that works.
BY = {
    "capture": lambda s, x: captured(s, lambda: kernel()[1, 1](x, 1)),
    "node": lambda s, x: nodes(lambda graph: graph.add_kernel(kernel(), 1, 1, x, 1)),
    "prepared": lambda s, x: kernel().prepare(1, 1, x, 1),
}


def captured(stream, work):
    with stream.capture() as graph:
        work()
    return graph.instantiate()


def nodes(add):
    graph = cupola.Graph()
    add(graph)
    return graph.instantiate()


@pytest.mark.parametrize("dtype", ["<i4", ">i4"])
@pytest.mark.parametrize("made", BY.values(), ids=BY)
def test_a_host_array_of_a_kernel_is_copied_before(stream, made, dtype):
    array = np.array([5], dtype)
    with refused(cupola.ArgumentTypeError, saying=["cupola.to_device(array)", "captures, graphs"]):
        made(stream, array)
    with refused(cupola.ArgumentTypeError, saying="cupola.to_device(array)"):
        made(stream, cupola.In(array))
    there = cupola.to_device(array)
    cupola.Device().synchronize()
    made(stream, there)(stream=stream)
    stream.synchronize()
    assert there.get() == 6


def test_a_host_array_outside_of_graphs_is_copied_around_the_call(driver):
    array = np.array([5], np.int32)
    with refused(cupola.ArgumentTypeError, saying="cupola.InOut(array)"):
        kernel()[1, 1](array, 1)
    kernel()[1, 1](cupola.InOut(array), 1)
    assert array == 6


@pytest.mark.parametrize("kind", ["fill", "copy", "host", "empty"])
def test_nodes_other_than_kernels_are_updated_by_a_graph(stream, kind):
    x, y, seen = ints(1), ints(2), []

    def made(value):
        graph = cupola.Graph()
        return graph, {
            "fill": lambda: graph.add_fill(x, value),
            "copy": lambda: graph.add_copy(x, y if value == 2 else ints(7)),
            "host": lambda: graph.add_host(seen.append, value),
            "empty": graph.add_empty,
        }[kind]()

    graph, node = made(2)
    run = graph.instantiate()
    with refused(cupola.ArgumentTypeError, saying=[f"kind {kind!r}", "run.update(graph)"]):
        run.update(node, 7)
    run.update(made(7)[0])
    run(stream)
    stream.synchronize()
    if kind == "host":
        assert seen == [7]
    else:
        assert x.get() == (1 if kind == "empty" else 7)


def test_a_captured_kernel_is_updated_with_its_name(stream):
    x = ints(1)
    with stream.capture() as graph:
        kernel()[1, 1](x, 0)
    run = graph.instantiate()
    with refused(cupola.ArgumentTypeError, saying="kernel=kernel"):
        run.update(graph.nodes[0], x, 1)
    run.update(graph.nodes[0], x, 1, kernel=kernel())
    run(stream)
    stream.synchronize()
    assert x.get() == 2


PAIR = np.dtype([("a", "<i4"), ("b", "<i4")])


@pytest.mark.parametrize("source", ["i4", ">f4", "u4", "f8"])
@pytest.mark.parametrize("is_host", [False, True])
def test_a_copy_of_another_dtype_is_refused_or_copies_the_bytes_of_a_view(stream, source, is_host):
    target = cupola.zeros(4, "f4" if np.dtype(source).itemsize == 4 else PAIR)
    host = np.arange(4).astype(source)
    array = host if is_host else cupola.to_device(host).view(source)
    cupola.Device().synchronize()
    graph = cupola.Graph()
    with refused(cupola.ArgumentTypeError, saying=[str(target.dtype), "target.view("]) as caught:
        graph.add_copy(target, array)
    remedy = str(caught.value).partition("pass ")[2].partition(" to copy")[0]
    graph.add_copy(eval(remedy, {"target": target, "numpy": np}), array)
    graph.instantiate()(stream)
    stream.synchronize()
    kept = host if is_host else array.get()
    assert target.get().tobytes() == kept.tobytes()
    with refused(cupola.ArgumentTypeError, saying=[str(target.dtype), "target.view("]):
        graph.add_copy(np.zeros(4, source), target)


@pytest.mark.parametrize("name", ["array_equal", "allclose"])
def test_a_comparison_in_a_capture_is_named(stream, name):
    x = ints(1)
    with stream.capture(), pytest.raises(cupola.ArgumentError, match=f"{name}: the stream"):
        getattr(cupola, name)(x, x)


def test_what_a_capture_does_not_refuse(stream, capsys):
    """Of the list in the page on arrays: `print`, and calls with other arguments on the host."""
    x = ints(0, 1, 2)
    with stream.capture() as graph:
        print(x)
        cupola.digitize(x, [0, 1, 2])
        cupola.repeat(x, [0, 1, 2])
        cupola.histogram(x, [0, 1, 2])
        cupola.take(x, [0, 1])
        cupola.compress([True, False], x)
        x.get()
    assert "shape=(3,)" in capsys.readouterr().out
    graph.instantiate()(stream)
    stream.synchronize()
