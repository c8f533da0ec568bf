"""cupola.nccl against NumPy, by a library with NCCL's functions, on the CPU device.

The ranks are of one device, each with a stream of its own. test_nccl_devices.py has several
devices, and NCCL itself where there are GPUs.
"""

import ctypes
import gc
import threading

import ml_dtypes
import numpy as np
import pytest
from nccl_ranks import *
from working import refused

import cupola
from cupola import nccl

pytestmark = pytest.mark.cpu_only(reason="the library reads host memory")
TYPES = ["i1", "u1", "i4", "u4", "i8", "u8", "f2", ml_dtypes.bfloat16, "f4", "f8"]
MOVED = ["?", "i2", "f8", "c16", [("a", "i4"), ("b", "f4")]]
REDUCTIONS = {
    "sum": lambda x: x.sum(0),
    "prod": lambda x: x.prod(0),
    "min": lambda x: x.min(0),
    "max": lambda x: x.max(0),
    "avg": lambda x: x.sum(0) / SIZE,
}


def numbers(dtype, shape=(SIZE, 2, 5), seed=1):
    """Small integers: sums and products are exact in each type."""
    return np.random.default_rng(seed).integers(1, 4, shape).astype(dtype)


def there(host):
    return [cupola.to_device(part) for part in host]


def equal(found, expected, dtype):
    assert (found.dtype, found.shape) == (np.dtype(dtype), expected.shape)
    np.testing.assert_array_equal(found.get(), expected.astype(dtype))


@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: np.dtype(dtype).name)
def test_reductions(ranks, dtype, op):
    host = numbers(dtype)
    wide = host.astype("f8" if np.dtype(dtype).kind not in "iu" else "i8")
    expected = REDUCTIONS[op](wide)
    x = there(host)
    for found in ranks.each(lambda one, stream, i: one.all_reduce(x[i], op=op, stream=stream)):
        equal(found, expected, dtype)
    (root,) = filter(
        lambda one: one is not None,
        ranks.each(lambda one, stream, i: one.reduce(x[i], None, 2, op, stream)),
    )
    equal(root, expected, dtype)
    parts = numbers(dtype, (SIZE, SIZE, 4), 2)
    wide = parts.astype(wide.dtype)
    x = there(parts)
    found = ranks.each(lambda one, stream, i: one.reduce_scatter(x[i], op=op, stream=stream))
    for i, one in enumerate(found):
        equal(one, REDUCTIONS[op](wide)[i], dtype)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("op", ["sum", "avg"])
def test_complex_numbers(ranks, dtype, op):
    host = numbers(dtype) + 1j * numbers(dtype, seed=3)
    x = there(host.astype(dtype))
    for found in ranks.each(lambda one, stream, i: one.all_reduce(x[i], op=op, stream=stream)):
        np.testing.assert_allclose(found.get(), REDUCTIONS[op](host), rtol=1e-6)


def test_truth_values(ranks):
    host = np.array([[1, 0, 0, 1], [1, 0, 1, 1], [1, 0, 0, 0]], bool)
    x = there(host)
    for op, expected in (("max", host.any(0)), ("min", host.all(0))):
        for found in ranks.each(lambda c, s, i, op=op: c.all_reduce(x[i], op=op, stream=s)):
            equal(found, expected, bool)
    with refused(cupola.ArgumentTypeError, saying=("rank 1 of 3", "bool", "op='max'", "int32")):
        ranks.communicators[1].all_reduce(x[1], op="sum")


@pytest.mark.parametrize("dtype", MOVED, ids=lambda dtype: str(dtype)[:3])
def test_what_is_moved_has_any_type(ranks, dtype):
    host = np.zeros((SIZE, SIZE, 2), dtype)
    host.view("u1")[...] = np.random.default_rng(4).integers(0, 2, host.view("u1").shape)

    def check(found, expected):
        assert found.dtype == host.dtype and found.get().tobytes() == expected.tobytes()

    for root in range(SIZE):
        x = there(host)
        found = ranks.each(lambda one, s, i, x=x, root=root: one.broadcast(x[i], root, s))
        for one, array in zip(found, x, strict=True):
            assert one is array
            check(one, host[root])
    x = there(host)
    for found in ranks.each(lambda one, stream, i: one.all_gather(x[i], stream=stream)):
        check(found, host)
    for i, found in enumerate(ranks.each(lambda one, s, i: one.all_to_all(x[i], stream=s))):
        check(found, host[:, i].copy())
    y = [cupola.empty_like(one) for one in x]

    def ring(one, stream, i):
        one.send(x[i], (i + 1) % SIZE, stream)
        assert one.recv(y[i], (i - 1) % SIZE, stream) is y[i]

    ranks.each(ring)
    for i, found in enumerate(y):
        check(found, host[i - 1])


def test_in_place(ranks):
    host = numbers("f4", (SIZE, SIZE, 4))
    x = there(host)
    for i, found in enumerate(ranks.each(lambda one, s, i: one.all_reduce(x[i], x[i], stream=s))):
        assert found is x[i]
        equal(found, host.sum(0), "f4")
    x = there(host)
    assert ranks.each(lambda one, s, i: one.reduce(x[i], x[i], stream=s))[0] is x[0]
    equal(x[0], host.sum(0), "f4")
    equal(x[1], host[1], "f4")
    x = there(host)
    ranks.each(lambda one, s, i: one.all_gather(x[i][i], x[i], stream=s))
    for one in x:
        equal(one, np.array([host[i, i] for i in range(SIZE)]), "f4")
    x = there(host)
    ranks.each(lambda one, s, i: one.reduce_scatter(x[i], x[i][i], stream=s))
    for i, one in enumerate(x):
        equal(one[i], host.sum(0)[i], "f4")
    one = ranks.communicators[1]
    for call in (
        lambda: one.all_reduce(x[1][:2], x[1][1:]),
        lambda: one.all_to_all(x[1], x[1]),
        lambda: one.all_gather(x[1][0], x[1]),
        lambda: one.reduce_scatter(x[1], x[1][2]),
    ):
        with refused(cupola.ArgumentValueError, saying=("rank 1 of 3", "overlaps x")):
            call()


def test_arrays_of_no_elements(ranks, stub):
    before = ctypes.c_int.in_dll(stub, "batches").value
    x = [cupola.empty((SIZE, 0), np.float32) for _ in range(SIZE)]
    assert ranks.each(lambda one, s, i: one.all_reduce(x[i], stream=s))[0].shape == (SIZE, 0)
    assert ranks.each(lambda one, s, i: one.all_gather(x[i], stream=s))[0].shape == (SIZE, SIZE, 0)
    assert ranks.each(lambda one, s, i: one.reduce_scatter(x[i], stream=s))[0].shape == (0,)
    ranks.each(lambda one, s, i: one.all_to_all(x[i], stream=s))
    assert ctypes.c_int.in_dll(stub, "batches").value == before


def hold_back(ranks, opened):
    cupola.Device().synchronize()
    for stream in ranks.streams:
        stream.launch_host_func(opened.wait, 60)


def test_the_order_of_the_stream(ranks):
    """It reduces the elements at its place in the stream."""
    opened = threading.Event()
    x = [cupola.zeros(1000, np.int32) for _ in range(SIZE)]
    hold_back(ranks, opened)
    for stream, array in zip(ranks.streams, x, strict=True):
        array.fill(5, stream=stream)
    found = ranks.each(lambda one, stream, i: one.all_reduce(x[i], stream=stream), wait=False)
    for stream, array in zip(ranks.streams, x, strict=True):
        array.fill(9, stream=stream)
    opened.set()
    ranks.wait()
    for one, array in zip(found, x, strict=True):
        equal(one, np.full(1000, 5 * SIZE), "i4")
        equal(array, np.full(1000, 9), "i4")


def test_memory_is_reused_after_the_operation(ranks):
    opened = threading.Event()
    x = [cupola.full(1000, 5, np.int32) for _ in range(SIZE)]
    hold_back(ranks, opened)
    found = ranks.each(lambda one, stream, i: one.all_reduce(x[i], stream=stream), wait=False)
    addresses = {array.ptr for array in x}
    x.clear()
    gc.collect()
    others = [cupola.full(1000, 7, np.int32) for _ in range(SIZE)]
    assert addresses & {array.ptr for array in others}
    assert not cupola.Stream.current().done  # the arrays are filled later
    opened.set()
    ranks.wait()
    for one, other in zip(found, others, strict=True):
        equal(one, np.full(1000, 5 * SIZE), "i4")
        equal(other, np.full(1000, 7), "i4")


def test_the_current_stream(ranks):
    x = there(numbers("i8"))
    cupola.Device().synchronize()
    with nccl.group():
        found = []
        for one, stream, array in zip(ranks.communicators, ranks.streams, x, strict=True):
            with stream:
                found.append(one.all_reduce(array))
    ranks.wait()
    equal(found[2], numbers("i8").sum(0), "i8")


def test_another_librarys_stream(ranks):
    class Foreign:
        def __init__(self, stream):
            self.stream = stream

        def __cuda_stream__(self):
            return self.stream.__cuda_stream__()

    x = there(numbers("i8"))
    found = ranks.each(lambda one, stream, i: one.all_reduce(x[i], stream=Foreign(stream)))
    equal(found[0], numbers("i8").sum(0), "i8")


def test_after_an_exception_a_group_queues_nothing(ranks, stub):
    before = ctypes.c_int.in_dll(stub, "batches").value
    x = there(numbers("f4"))
    with refused(cupola.ArgumentTypeError, saying="rank 1"), nccl.group():
        ranks.communicators[0].all_reduce(x[0], stream=ranks.streams[0])
        ranks.communicators[1].all_reduce([1, 2])
    cupola.Device().synchronize()
    assert ctypes.c_int.in_dll(stub, "batches").value == before
    found = ranks.each(lambda one, stream, i: one.all_reduce(x[i], stream=stream))
    equal(found[1], numbers("f4").sum(0), "f4")


def test_a_rank_sends_to_itself_in_a_group(ranks):
    one, stream = ranks.communicators[0], ranks.streams[0]
    x, y = cupola.to_device(np.arange(4.0)), cupola.zeros(4)
    cupola.Device().synchronize()
    for call in (lambda: one.send(x, 0), lambda: one.recv(y, 0)):
        with refused(cupola.ArgumentValueError, saying=("this rank", "cupola.nccl.group()")):
            call()
    with nccl.group():
        one.send(x, 0, stream)
        one.recv(y, 0, stream)
    stream.synchronize()
    assert (y.get() == np.arange(4)).all()


def captured(ranks, *steps):
    """A graph of each rank's stream; each step is a group."""
    captures = [stream.capture() for stream in ranks.streams]
    graphs = [one.__enter__() for one in captures]
    for step in steps:
        with nccl.group():
            for i, (one, stream) in enumerate(zip(ranks.communicators, ranks.streams, strict=True)):
                step(one, stream, i)
    for one in reversed(captures):
        one.__exit__(None, None, None)
    return graphs


def test_graphs(ranks):
    host = numbers("i8")
    x = there(host)
    out = [cupola.zeros(host.shape[1:], np.int64) for _ in range(SIZE)]
    cupola.Device().synchronize()

    def reduce(one, stream, i):
        one.all_reduce(x[i], x[i], stream=stream)

    def ring(one, stream, i):
        one.send(x[i], (i + 1) % SIZE, stream)
        one.recv(out[i], (i - 1) % SIZE, stream)

    ready = [graph.instantiate() for graph in captured(ranks, reduce, ring)]
    ranks.wait()
    equal(x[0], host[0], "i8")  # nothing has run
    x.clear()  # the graphs hold the arrays
    gc.collect()
    others = [cupola.zeros(host.shape[1:], np.int64) for _ in range(2 * SIZE)]
    cupola.Device().synchronize()
    for time in range(3):
        for graph, stream in zip(ready, ranks.streams, strict=True):
            graph(stream)
        ranks.wait()
        for found in out:
            equal(found, SIZE**time * host.sum(0), "i8")
    assert all((one.get() == 0).all() for one in others)


def test_a_communicator_lives_as_long_as_its_graphs(ranks):
    x = there(numbers("f4"))
    cupola.Device().synchronize()
    graphs = captured(ranks, lambda one, s, i: one.all_reduce(x[i], x[i], stream=s))
    ready = [graph.instantiate() for graph in graphs]
    del graphs
    for call in (ranks.communicators[2].close, ranks.communicators[2].abort):
        with refused(cupola.ArgumentValueError, saying=("rank 2", "graph", "delete")):
            call()
    for graph, stream in zip(ready, ranks.streams, strict=True):
        graph(stream)
    ranks.wait()
    equal(x[1], numbers("f4").sum(0), "f4")
    assert not ranks.communicators[2].closed


def test_a_graph_that_is_deleted_during_a_launch(ranks):
    """Its memory is freed behind the launch, on the stream that was captured."""
    opened = threading.Event()
    x = [cupola.full(1000, 5, np.int32) for _ in range(SIZE)]
    out = [cupola.zeros(1000, np.int32) for _ in range(SIZE)]
    cupola.Device().synchronize()
    graphs = captured(ranks, lambda one, s, i: one.all_reduce(x[i], out[i], stream=s))
    ready = [graph.instantiate() for graph in graphs]
    hold_back(ranks, opened)
    for graph, stream in zip(ready, ranks.streams, strict=True):
        graph(stream)
    addresses = {array.ptr for array in x}
    x.clear(), graphs.clear(), ready.clear()
    del graph
    gc.collect()
    others = [cupola.full(1000, 7, np.int32) for _ in range(SIZE)]
    assert addresses & {array.ptr for array in others}
    assert not cupola.Stream.current().done
    opened.set()
    ranks.wait()
    for one, other in zip(out, others, strict=True):
        equal(one, np.full(1000, 5 * SIZE), "i4")
        equal(other, np.full(1000, 7), "i4")
