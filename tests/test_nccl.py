"""cupola.nccl against NumPy, by a library with NCCL's functions, on the CPU device.

The ranks are of one device, each with a stream of its own. test_nccl_devices.py has several
devices, and NCCL itself where there are GPUs.
"""

import ctypes
import gc
import pickle
import threading

import ml_dtypes
import nccl_stub
import numpy as np
import pytest
from working import refused

import cupola
from cupola import nccl
from cupola.nccl import library as nccl_library
from cupola.toolkit import libraries

pytestmark = pytest.mark.cpu_only(reason="the library reads host memory")
SIZE = 3
TYPES = ["i1", "u1", "i4", "u4", "i8", "u8", "f2", ml_dtypes.bfloat16, "f4", "f8"]
MOVED = ["?", "i2", "f8", "c16", [("a", "i4"), ("b", "f4")]]
REDUCTIONS = {
    "sum": lambda x: x.sum(0),
    "prod": lambda x: x.prod(0),
    "min": lambda x: x.min(0),
    "max": lambda x: x.max(0),
    "avg": lambda x: x.sum(0) / SIZE,
}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return nccl_stub.build(tmp_path_factory.mktemp("nccl"))


@pytest.fixture
def stub(path, driver, monkeypatch):
    return nccl_stub.use(path, monkeypatch.setattr).found.library


class Ranks:
    """Communicators of one device with their streams."""

    def __init__(self):
        identifier = nccl.UniqueId()
        self.streams = [cupola.Stream(non_blocking=True) for _ in range(SIZE)]
        with nccl.group():
            self.communicators = [nccl.Communicator(SIZE, i, identifier) for i in range(SIZE)]

    def each(self, call, wait=True):
        """`call(communicator, stream, rank)` on all of them, in one group."""
        cupola.Stream.current().synchronize()  # what arrays were made on
        with nccl.group():
            found = [
                call(one, stream, rank)
                for rank, (one, stream) in enumerate(
                    zip(self.communicators, self.streams, strict=True)
                )
            ]
        if wait:
            self.wait()
        return found

    def wait(self):
        for stream in self.streams:
            stream.synchronize()

    def close(self):
        self.each(lambda one, stream, rank: one.close(), wait=False)


@pytest.fixture
def ranks(stub):
    made = Ranks()
    yield made
    gc.collect()
    made.close()
    assert ctypes.c_int.in_dll(stub, "open_communicators").value == 0


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


def test_the_order_of_the_stream(ranks):
    """What was queued before is reduced, what is queued later is not; memory is freed after it."""
    opened = threading.Event()
    x = [cupola.zeros(1000, np.int32) for _ in range(SIZE)]
    cupola.Device().synchronize()
    for stream, array in zip(ranks.streams, x, strict=True):
        stream.launch_host_func(opened.wait, 60)
        array.fill(5, stream=stream)
    found = ranks.each(lambda one, stream, i: one.all_reduce(x[i], stream=stream), wait=False)
    for stream, array in zip(ranks.streams, x, strict=True):
        array.fill(9, stream=stream)
    x.clear()
    gc.collect()
    others = [cupola.full(1000, 7, np.int32) for _ in range(SIZE)]  # perhaps in the same memory
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
    del x  # the graphs hold it
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


def test_threads(stub):
    """Each rank in a thread of its own, without a group."""
    identifier, found = nccl.UniqueId(), [None] * SIZE
    host = numbers("f8")

    def rank(i):
        stream = cupola.Stream(non_blocking=True)
        with nccl.Communicator(SIZE, i, identifier) as one, stream:
            assert (one.rank, one.size, one.device) == (i, SIZE, cupola.Device())
            found[i] = one.all_reduce(cupola.to_device(host[i])).get()
        assert one.closed

    threads = [threading.Thread(target=rank, args=(i,)) for i in range(SIZE)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    for result in found:
        np.testing.assert_array_equal(result, host.sum(0))


def test_an_asynchronous_error(stub):
    ranks = Ranks()
    x = [cupola.ones(4 + i) for i in range(SIZE)]
    ranks.each(lambda one, stream, i: one.all_reduce(x[i], stream=stream))
    for i, one in enumerate(ranks.communicators):
        with refused(cupola.DriverError, saying=(f"rank {i} of 3", "status 6", "remote process")):
            one.check()
    before = ctypes.c_int.in_dll(stub, "aborted").value
    with nccl.group():
        for one in ranks.communicators:
            one.abort()
    assert ctypes.c_int.in_dll(stub, "aborted").value == before + SIZE


def test_abort_ends_what_waits(stub):
    """A rank whose peers never come."""
    ranks = Ranks()
    x = cupola.ones(4)
    cupola.Device().synchronize()
    with (
        pytest.raises(RuntimeError, match="ours"),
        ranks.communicators[0] as one,
    ):
        one.all_reduce(x, stream=ranks.streams[0])
        raise RuntimeError("ours")
    assert one.closed
    ranks.streams[0].synchronize()
    for other in ranks.communicators[1:]:
        other.check()
        other.abort()


def test_what_nccl_refuses_is_an_error_with_its_text(ranks, monkeypatch):
    from cupola.nccl import element_types

    monkeypatch.setitem(element_types.OPERATIONS, "sum", 77)
    said = ("all_reduce on rank 0 of 3", "ncclAllReduce", "status 4 (invalid argument)")
    x = cupola.ones(4)
    for outside in (True, False):
        with refused(cupola.DriverError, saying=(*said, "last error: 77 is no operation")):
            if outside:
                ranks.communicators[0].all_reduce(x)
            else:
                with nccl.group():
                    ranks.communicators[0].all_reduce(x)


def test_wrong_arguments(ranks):
    one = ranks.communicators[1]
    x = cupola.ones((SIZE, 4), np.float32)
    frozen = cupola.Array.from_address(x.ptr, x.shape, x.dtype, owner=x, readonly=True)
    of_type, of_value = cupola.ArgumentTypeError, cupola.ArgumentValueError
    wrong = [
        (of_type, ("all_reduce on rank 1", "argument x", "to_device"), lambda: one.all_reduce(x.get())),
        (of_value, ("argument x", "C order", "x.copy()"), lambda: one.all_reduce(x.T)),
        (of_value, ("argument op", "'sum', 'prod'", "'mean'"), lambda: one.all_reduce(x, op="mean")),
        (of_type, ("int16", "x.astype(np.int32)"), lambda: one.all_reduce(x.astype(np.int16))),
        (of_type, ("complex64", "op='sum'"), lambda: one.all_reduce(x.astype("c8"), op="max")),
        (of_value, ("argument out", "(3, 4)", "(4,)"), lambda: one.all_reduce(x, x[0])),
        (of_value, ("argument out", "float64"), lambda: one.all_reduce(x, x.astype("f8"))),
        (of_value, ("argument out is read-only",), lambda: one.all_reduce(x, frozen)),
        (of_value, ("argument x is read-only",), lambda: one.broadcast(frozen, 0)),
        (of_value, ("argument out is read-only",), lambda: one.recv(frozen, 0)),
        (of_value, ("argument root", "0 to 2", "got 3"), lambda: one.broadcast(x, 3)),
        (of_type, ("argument root", "int", "float"), lambda: one.reduce(x, root=1.0)),
        (of_value, ("argument peer", "got -1"), lambda: one.send(x, -1)),
        (of_value, ("argument x", "3 parts", "reshape"), lambda: one.reduce_scatter(x[:2])),
        (of_value, ("argument x", "3 parts"), lambda: one.all_to_all(x[0, 0])),
        (of_type, ("argument stream", "__cuda_stream__"), lambda: one.all_reduce(x, stream=7)),
        (of_value, ("argument size", "at least 1"), lambda: nccl.Communicator(0, 0, b"")),
        (of_value, ("argument rank", "0 to 1", "got 2"), lambda: nccl.Communicator(2, 2, b"")),
        (of_type, ("argument unique_id", "None"), lambda: nccl.Communicator(2, 1, None)),
        (of_value, ("128 bytes", "got 3"), lambda: nccl.Communicator(2, 1, b"abc")),
        (of_type, ("expected bytes", "str"), lambda: nccl.UniqueId("abc")),
        (of_value, ("at least one device",), lambda: nccl.Communicator.all([])),
        (of_value, ("each once", "[0, 0]"), lambda: nccl.Communicator.all([0, 0])),
        (of_type, ("pickled", "UniqueId"), lambda: pickle.dumps(one)),
    ]  # fmt: skip
    for kind, saying, call in wrong:
        with refused(kind, saying=saying):
            call()


def test_float8_needs_a_newer_nccl(ranks, monkeypatch):
    x = cupola.to_device(np.ones(3, ml_dtypes.float8_e5m2))
    monkeypatch.setattr(ranks.communicators[0]._nccl, "version", (2, 23, 4))
    with refused(cupola.ArgumentTypeError, saying=("float8_e5m2", "2.24", "2.23.4", "float16")):
        ranks.communicators[0].all_reduce(x)
    found = nccl.element_types.reduced("", x.dtype, "sum", (2, 24, 0))
    assert found == (11, 1)


def test_a_closed_communicator(stub):
    (one,) = nccl.Communicator.all([0])
    x = cupola.ones(3)
    np.testing.assert_array_equal(one.all_reduce(x).get(), np.ones(3))
    assert "rank 0 of 1>" in repr(one)
    one.close()
    one.close()
    one.abort()
    assert one.closed and "closed" in repr(one)
    for call in (lambda: one.all_reduce(x), one.check):
        with refused(cupola.ArgumentValueError, saying=("was closed", "make another")):
            call()
    with nccl.group():
        other = nccl.Communicator(1, 0, nccl.UniqueId())
        with refused(cupola.ArgumentValueError, saying="end of its group"):
            other.all_reduce(x)
    other.close()


def test_a_rank_twice(stub):
    identifier = nccl.UniqueId()
    with nccl.Communicator(1, 0, identifier), refused(cupola.DriverError, saying="joins twice"):
        nccl.Communicator(1, 0, identifier)


def test_identifiers(stub):
    one, other = nccl.UniqueId(), nccl.UniqueId()
    assert one != other and len(one) == 128 and isinstance(one, bytes)
    sent = pickle.loads(pickle.dumps(one))
    assert type(sent) is nccl.UniqueId and sent == one == nccl.UniqueId(bytes(one))
    assert repr(one).startswith("<cupola.nccl.UniqueId 73747562")


class Mpi:
    """An mpi4py communicator whose ranks are threads."""

    def __init__(self, rank, barrier, slots):
        self.rank, self.barrier, self.slots = rank, barrier, slots

    def Get_rank(self):  # noqa: N802
        return self.rank

    def Get_size(self):  # noqa: N802
        return len(self.slots)

    def allgather(self, value):
        self.slots[self.rank] = pickle.dumps(value)
        self.barrier.wait(60)
        return [pickle.loads(one) for one in self.slots]


def of_mpi(call):
    """What `call(communicator of MPI)` returns or raises on each rank."""
    barrier, slots, found = threading.Barrier(SIZE), [None] * SIZE, [None] * SIZE

    def rank(i):
        try:
            found[i] = call(Mpi(i, barrier, slots))
        except cupola.Error as error:
            found[i] = error

    threads = [threading.Thread(target=rank, args=(i,)) for i in range(SIZE)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    return found


def test_ranks_of_mpi(stub):
    def call(mpi):
        with nccl.Communicator.from_mpi(mpi) as one, cupola.Stream(non_blocking=True):
            return one.rank, one.all_reduce(cupola.full(3, mpi.rank)).get().tolist()

    assert of_mpi(call) == [(i, [3.0] * 3) for i in range(SIZE)]


def test_a_rank_of_mpi_without_a_gpu(stub, monkeypatch):
    """None waits for it."""
    local = threading.local()
    monkeypatch.setattr(nccl_library, "is_cpu", lambda device: local.cpu)

    def call(mpi):
        local.cpu = mpi.rank == 1
        return nccl.Communicator.from_mpi(mpi)

    found = of_mpi(call)
    assert "CPU device" in str(found[1]) and "rank" not in str(found[1])
    for i in (0, 2):
        assert "rank 1 cannot take part: Error: " in str(found[i]) and "CPU" in str(found[i])


def test_an_older_nccl(path, driver):
    there = ctypes.CDLL(str(path))
    number = ctypes.c_int.in_dll(there, "reported_version")
    before, number.value = number.value, 21705
    try:
        with refused(cupola.Error, saying=("NCCL 2.17.5", "2.18", "cupola[nccl]")):
            nccl_stub.load(path)
    finally:
        number.value = before
    assert nccl_stub.load(path).version == (2, 28, 9)


def test_the_cpu_device_has_no_nccl(driver):
    for call in (nccl.UniqueId, nccl.version, nccl.Communicator.all):
        with refused(cupola.Error, saying=("NCCL", "GPUs alone", "device 0", "cupola.mpi")):
            call()


def test_a_missing_library(driver, monkeypatch):
    monkeypatch.setattr(nccl_library, "is_cpu", lambda device: False)
    nccl_library._installed.cache_clear()
    monkeypatch.setattr(libraries, "_load", libraries._load.__wrapped__)
    monkeypatch.setattr(libraries, "_places", lambda name: [("cuda-pathfinder", "not there")])
    saying = ("NCCL", "cuda-pathfinder: not there", "'cupola[nccl]'", "LD_LIBRARY_PATH")
    with refused(cupola.MissingFileError, saying=saying):
        nccl.UniqueId()


def test_the_paths_name_nccl(driver):
    assert "NCCL, for cupola.nccl on GPUs: " in cupola.paths.report()
