"""Sends and receives between ranks: sizes around a piece, views, requests, kinds of arrays.

Arguments: the transport that is expected, and "cut" for small pieces of what is not staged.
"""

import importlib
import sys
import threading

import numpy as np
from mpi4py import MPI

import cupola
from cupola.chunks.staging import page_locked_cache
from cupola.mpi import Communicator, Request, communicator

PIECE = 1024
if sys.argv[1] == "device pointers":  # on the CPU device, too, whose pools can't be opened either
    importlib.import_module("cupola.mpi.transport").is_cpu = lambda index: False
if sys.argv[2:] == ["cut"]:
    communicator.LARGE_PIECE = 1024
world = MPI.COMM_WORLD
comm = Communicator(world, piece=PIECE)
assert comm.transport.name == sys.argv[1], comm.transport
right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size


def numbers(shape, rank, dtype=np.float32):
    size = int(np.prod(shape))
    return (np.arange(size) % 251 + 1000 * rank).astype(dtype).reshape(shape)


class Wrapped:
    """An array of another library."""

    def __init__(self, array):
        self.array = array

    @property
    def __cuda_array_interface__(self):
        return self.array.__cuda_array_interface__


def ring(make, like, got, expected):
    """Each rank sends to the next one; `like` makes the target, `got` reads it."""
    sent, target = make(comm.rank), like()
    status = MPI.Status()
    comm.Sendrecv(sent, right, 7, target, left, 7, status)
    assert (status.source, status.tag) == (left, 7)
    np.testing.assert_array_equal(got(target), expected(left))


def get(array):
    return array.get()


# Numbers of float32 elements: none, one, just below, at and above one piece, several pieces.
for size in (0, 1, 255, 256, 257, 512, 5000):
    device = lambda rank, size=size: cupola.to_device(numbers(size, rank))
    host = lambda rank, size=size: numbers(size, rank)
    empty = lambda size=size: cupola.zeros(size, np.float32)
    ring(device, empty, get, host)
    ring(host, empty, get, host)
    ring(device, lambda size=size: np.zeros(size, np.float32), lambda a: a, host)

# Views with gaps are packed and unpacked; what is between their elements stays.
wide = cupola.zeros((40, 90), np.float64)
ring(
    lambda rank: cupola.to_device(numbers((60, 80), rank, np.float64))[::2, 20:50],
    lambda: wide[5:35, ::3],
    get,
    lambda rank: numbers((60, 80), rank, np.float64)[::2, 20:50],
)
rest = wide.get()
rest[5:35, ::3] = 0
assert not rest.any()
ring(
    lambda rank: cupola.to_device(numbers((30, 50), rank)).T,
    lambda: cupola.empty((50, 30), np.float32),
    get,
    lambda rank: numbers((30, 50), rank).T,
)

# Dtypes that MPI does not have go as bytes.
pair = np.dtype([("a", np.int16), ("b", np.float64)])
for dtype in (np.float16, pair):
    data = np.zeros(3000, dtype)
    data.view(np.uint8)[:] = numbers(data.nbytes, comm.rank, np.uint8)
    ring(
        lambda rank, data=data: cupola.to_device(data),
        lambda dtype=dtype: cupola.zeros(3000, dtype),
        lambda a: a.get().view(np.uint8),
        lambda rank, data=data: numbers(data.nbytes, rank, np.uint8),
    )

ring(
    lambda rank: Wrapped(cupola.to_device(numbers(3000, rank))),
    lambda: Wrapped(cupola.zeros(3000, np.float32)),
    lambda a: a.array.get(),
    lambda rank: numbers(3000, rank),
)

# Requests: messages of several pieces with one tag keep their order, and a barrier lets them move.
sent = [cupola.to_device(numbers(n, comm.rank + n)) for n in (3000, 10, 2000, 256)]
targets = [cupola.zeros_like(array) for array in sent]
requests = [comm.Irecv(target, left, 3) for target in targets]
requests += [comm.Isend(array, right, 3) for array in sent]
comm.Barrier()
Request.Waitall(requests)
assert all(request.done and request.Test() for request in requests)
for n, target in zip((3000, 10, 2000, 256), targets, strict=True):
    np.testing.assert_array_equal(target.get(), numbers(n, left + n))

# A send is complete although the receiver receives in a later call.
if comm.size > 1 and comm.rank < 2:
    other = 1 - comm.rank
    array = cupola.to_device(numbers(4000, comm.rank))
    if comm.rank == 0:
        request = comm.Isend(array, other)
    else:
        target = cupola.zeros(4000, np.float32)
        comm.Recv(target, other)
        np.testing.assert_array_equal(target.get(), numbers(4000, 0))
comm.Barrier()
if comm.size > 1 and comm.rank == 0:
    request.wait()

# A smaller message does not change the other elements. A receive from any source and with any tag
# reports the size in the status.
if comm.rank == 0:
    for size in (0, 300, 256):
        for _ in range(1, comm.size):
            target, status = cupola.full(1000, 5, np.float32), MPI.Status()
            comm.Recv(target, status=status)
            expected = np.full(1000, 5, np.float32)
            expected[:size] = numbers(size, status.source)
            assert status.Get_count(MPI.FLOAT) == size and status.tag == status.source + size
            np.testing.assert_array_equal(target.get(), expected)
        comm.Barrier()
else:
    for size in (0, 300, 256):
        comm.Send(cupola.to_device(numbers(size, comm.rank)), 0, comm.rank + size)
        comm.Barrier()

# Streams: the send waits for the work that makes the array, and later work sees what has come.
stream = cupola.Stream()
with stream:
    array = cupola.zeros(200_000, np.float64)
    target = cupola.empty_like(array)
    for _ in range(20):
        array += 1.0
comm.Sendrecv(array, right, 0, target, left, 0, stream=stream)
with stream:
    target *= 2.0
    assert (target.get() == 40).all()

# A large message needs few pieces of page-locked memory.
large = cupola.to_device(numbers(1 << 16, comm.rank))
target = cupola.zeros_like(large)
comm.Sendrecv(large, right, 0, target, left, 0)
np.testing.assert_array_equal(target.get(), numbers(1 << 16, left))
cupola.Device().synchronize()
locked = sum(memory.nbytes for memory in page_locked_cache.spare)
assert (0 < locked <= 32 * PIECE) if comm.transport.staged else locked == 0, locked

# An exchange waits for its own stream alone: another stream may be in the middle of its work.
edge, inner = cupola.Stream(non_blocking=True), cupola.Stream(non_blocking=True)
release = threading.Event()
inner.launch_host_func(release.wait)
with edge:
    rows, halo = cupola.full(3000, comm.rank, np.int64), cupola.empty(3000, np.int64)
requests = [comm.Irecv(halo, left, stream=edge), comm.Isend(rows, right, stream=edge)]
Request.Waitall(requests)
with edge:
    assert (halo.get() == left).all()
assert not inner.done
release.set()
inner.synchronize()


# Threads, each with its own tag.
def exchange(tag):
    try:
        with cupola.Stream() as stream:
            for turn in range(5):
                sent = cupola.full(2000, 10 * comm.rank + turn + tag, np.int64)
                target = cupola.empty_like(sent)
                comm.Sendrecv(sent, right, tag, target, left, tag)
                assert (target.get() == 10 * left + turn + tag).all()
            stream.synchronize()
    except BaseException as error:
        failures.append(error)


failures = []
if MPI.Query_thread() == MPI.THREAD_MULTIPLE:
    threads = [threading.Thread(target=exchange, args=(tag,)) for tag in (100, 200, 300)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]

# Persistent requests, and requests without a peer.
array = cupola.full(2000, comm.rank, np.int32)
target = cupola.empty_like(array)
receive, send = comm.Recv_init(target, left, 1), comm.Send_init(array, right, 1)
for turn in range(3):
    receive.Start()
    send.Start()
    send.Wait()
    receive.Wait()
    assert (target.get() == left + 10 * turn).all()
    array += 10
status = MPI.Status()
comm.Recv(target, MPI.PROC_NULL, status=status)
comm.Send(target, MPI.PROC_NULL)
assert status.source == MPI.PROC_NULL and status.Get_count(MPI.BYTE) == 0

comm.Free()
world.Barrier()
print("all as expected")
