"""Copies and fills of views, by each way to queue them: they write the view's elements alone."""

import numpy as np
import pytest
from graphs import everything_is_done, stream
from working import refused

import cupola

__all__ = ["everything_is_done", "stream"]

VIEWS = {
    "whole": lambda x: x,
    "columns": lambda x: x[:, 1:4],
    "every second column": lambda x: x[:, ::2],
    "rows": lambda x: x[1:3],
    "reversed": lambda x: x[::-1],
    "reversed both": lambda x: x[::-1, ::-1],
    "transposed": lambda x: x.T,
    "one column": lambda x: x[:, 2],
    "one element": lambda x: x[1:2, 1:2],
    "without axes": lambda x: x[1, 1, ...],
    "no rows": lambda x: x[2:2],
    "no columns": lambda x: x[:, 3:3],
}
DTYPES = [np.uint8, np.int16, np.float32, np.float64, np.complex128, np.dtype("i4,f8"), "S300"]


def numbers(dtype):
    """6 rows of 8 elements that differ, on the host."""
    raw = np.arange(6 * 8 * np.dtype(dtype).itemsize, dtype=np.uint32) * 7 % 251 + 1
    return raw.astype(np.uint8).view(dtype).reshape(6, 8)


def by_node(stream, add):
    """Add nodes to a graph, run it."""
    graph = cupola.Graph()
    add(graph)
    graph.instantiate()(stream)
    stream.synchronize()


def by_capture(stream, queue):
    with stream.capture() as graph:
        queue()
    graph.instantiate()(stream)
    stream.synchronize()


def directly(stream, queue):
    with stream:
        queue()
    stream.synchronize()


FILLS = {
    "node": lambda s, x, value: by_node(s, lambda graph: graph.add_fill(x, value)),
    "capture": lambda s, x, value: by_capture(s, lambda: x.fill(value)),
    "stream": lambda s, x, value: directly(s, lambda: x.fill(value)),
}
COPIES = {
    "node": lambda s, x, y: by_node(s, lambda graph: graph.add_copy(x, y)),
    "capture": lambda s, x, y: by_capture(s, lambda: x.set(y)),
    "stream": lambda s, x, y: directly(s, lambda: x.set(y)),
}


def there(host):
    array = cupola.to_device(host)
    cupola.Device().synchronize()
    return array


@pytest.mark.parametrize("way", FILLS)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_fill_writes_the_view_alone(stream, dtype, view, way):
    host = numbers(dtype)
    array, value = there(host), numbers(dtype)[3, 5]
    FILLS[way](stream, VIEWS[view](array), value)
    VIEWS[view](host)[...] = value
    np.testing.assert_array_equal(array.get(), host)


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("source", ["C", "reversed", "broadcast", "host", "same memory"])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.complex128], ids=str)
def test_a_copy_writes_the_view_alone(stream, dtype, view, source, way):
    host = numbers(dtype)
    array, other = there(host), numbers(dtype)[::-1].copy()
    target = VIEWS[view](array)
    shape = target.shape
    if source == "C":
        given = there(VIEWS[view](other).copy())
    elif source == "reversed":
        given = VIEWS[view](there(other))
    elif source == "broadcast":
        other = np.broadcast_to(other[:1, :1].reshape((1,) * len(shape)), shape)
        given = cupola.broadcast_to(there(np.array(other[(slice(0, 1),) * len(shape)])), shape)
    elif source == "host":
        given = np.array(VIEWS[view](other), order="C")
    else:  # the target's elements in another order
        given = target[::-1] if shape else target
    expected = host.copy()
    VIEWS[view](expected)[...] = given if isinstance(given, np.ndarray) else given.get()
    COPIES[way](stream, target, given)
    np.testing.assert_array_equal(array.get(), expected)


@pytest.mark.parametrize("way", COPIES)
def test_overlapping_copies_read_before_they_write(stream, way):
    for target, source in ((slice(1, None), slice(None, -1)), (slice(None, -1), slice(1, None))):
        host = np.arange(100_000, dtype=np.int32)
        array = there(host)
        COPIES[way](stream, array[target], array[source])
        host[target] = host[source].copy()
        np.testing.assert_array_equal(array.get(), host)


def test_overlapping_copies_of_memory(stream):
    memory, there = cupola.alloc(100_000), np.empty(100_000, np.uint8)
    host = np.arange(100_000).astype(np.uint8)
    memory.copy_from(host)
    memory.copy_from(memory, 1, 99_999)
    memory.copy_to(there)
    np.testing.assert_array_equal(there[1:], host[:-1])
    memory.copy_to(memory.address + 10, 0, 90_000)
    memory.copy_to(host)
    np.testing.assert_array_equal(host[10:90_010], there[:90_000])


def test_a_view_is_copied_to_the_host(stream):
    array, out = there(numbers(np.float32)), cupola.empty_pinned((6, 4), np.float32)
    by_node(stream, lambda graph: graph.add_copy(out, array[:, ::2]))
    np.testing.assert_array_equal(out, numbers(np.float32)[:, ::2])


def test_each_launch_copies_and_fills_again(stream):
    """The graph keeps the memory that it needs between the source and the target."""
    array, other, graph = there(numbers(np.float64)), there(numbers(np.float64)), cupola.Graph()
    fill = graph.add_fill(array[:, ::2], 2.5)
    copy = graph.add_copy(other[::-1], other, after=fill)
    assert (fill.kind, copy.kind) == ("graph", "graph") and graph.edges == ((fill, copy),)
    run, host = graph.instantiate(), numbers(np.float64)
    del graph, fill, copy
    for _ in range(3):
        host = host[::-1]
        run(stream)
        filler = [cupola.full(48, 9.0) for _ in range(4)]  # in memory that was freed
        stream.synchronize()
        np.testing.assert_array_equal(other.get(), host)
        assert (array[:, ::2].get() == 2.5).all() and len(filler) == 4
        array.fill(0)
        cupola.Device().synchronize()


def test_what_no_node_can_do_is_refused_before_it_is_added(stream):
    graph, x = cupola.Graph(), cupola.zeros((4, 6), np.float32)
    host = np.zeros((4, 6), np.float32)
    for wrong, saying in (
        (lambda: graph.add_copy(x[:, ::2], x[:2]), ("shape", "(4, 3)", "(2, 6)")),
        (lambda: graph.add_copy(x, host[:, ::-1]), ("C-contiguous", "ascontiguousarray")),
        (lambda: graph.add_copy(host.T, x.T), ("C-contiguous", "target")),
        (lambda: graph.add_copy(host[1:], host[:-1]), ("overlap",)),
        (lambda: graph.add_copy(cupola.broadcast_to(x[0], (4, 6)), x), ("read-only|stride of 0",)),
        (lambda: graph.add_fill(x[::2], [1, 2]), ("one value",)),
    ):
        with refused(cupola.ArgumentError, ValueError) as error:
            wrong()
        for word in saying:
            assert any(one in str(error.value) for one in word.split("|")), str(error.value)
    for wrong in (
        lambda: graph.add_fill(cupola.zeros(4, np.int32), 2.5),
        lambda: graph.add_fill(x, "text"),
        lambda: graph.add_copy(x[:, ::2], cupola.zeros((4, 3), np.int32)),
    ):
        with refused(cupola.ArgumentError):
            wrong()
    assert graph.nodes == ()
