"""tests/nccl_ranks.py - ranks of one device, each with a stream of its own, as fixtures."""

import ctypes
import gc

import nccl_stub
import pytest

import cupola
from cupola import nccl

SIZE = 3


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
        cupola.Stream.current().synchronize()  # the stream that made the arrays
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
