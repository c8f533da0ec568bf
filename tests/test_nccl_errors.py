"""cupola.nccl: communicators, their ends and their errors, by the library of nccl_stub.c."""

import ctypes
import pickle
import threading

import ml_dtypes
import nccl_stub
import numpy as np
import pytest
from nccl_ranks import *
from working import refused

import cupola
from cupola import nccl
from cupola.nccl import element_types
from cupola.nccl import library as nccl_library
from cupola.toolkit import libraries

pytestmark = pytest.mark.cpu_only(reason="the library reads host memory")


def test_threads(stub):
    """Each rank in a thread of its own, without a group."""
    identifier, found = nccl.UniqueId(), [None] * SIZE
    host = np.random.default_rng(1).integers(1, 9, (SIZE, 5)).astype("f8")

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
        (of_type, ("all_reduce on rank 1", "argument x"), lambda: one.all_reduce(x.get())),
        (of_type, ("cupola.to_device(x)", "ndarray"), lambda: one.all_reduce(x.get())),
        (of_value, ("argument x", "C order", "x.copy()"), lambda: one.all_reduce(x.T)),
        (of_value, ("argument op", "'sum', ", "'mean'"), lambda: one.all_reduce(x, op="mean")),
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
    found = element_types.reduced("", x.dtype, "sum", (2, 24, 0))
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
    """The results or errors of `call(communicator of MPI)` on each rank."""
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
