"""Collectives of device arrays, against NumPy.

Arguments: the transport that is expected, and "cut" for small pieces of what is not staged.
"""

import importlib
import sys

import numpy as np
from mpi4py import MPI

import cupola
from cupola.mpi import Communicator, communicator

if sys.argv[1] == "device pointers":  # on the CPU device, too, whose pools can't be opened either
    importlib.import_module("cupola.mpi.transport").is_cpu = lambda index: False
if sys.argv[2:] == ["cut"]:
    communicator.LARGE_PIECE = 1000
comm = Communicator(MPI.COMM_WORLD, piece=1000)
assert comm.transport.name == sys.argv[1], comm.transport
rank, size, last = comm.rank, comm.size, comm.size - 1
ranks = range(size)
SIZES = (0, 7, 300)


def part(owner, n, dtype=np.float64):
    return (np.arange(n) % 97 + 100 * owner + 1).astype(dtype)


def joined(n, dtype=np.float64):
    return np.concatenate([part(owner, n, dtype) for owner in ranks])


def device(array):
    return cupola.to_device(array)


def strided(array):
    """The same elements, in a view with gaps."""
    wide = cupola.zeros(2 * len(array), array.dtype)
    wide[::2] = cupola.to_device(array)
    return wide[::2]


def host(array):
    return array.copy()


def same(found, expected):
    found = found if isinstance(found, np.ndarray) else found.get()
    np.testing.assert_array_equal(found, expected)


for n in SIZES:
    for make in (device, strided, host) if n == 7 else (device,):
        buf = make(part(rank, n))
        comm.Bcast(buf, root=last)
        same(buf, part(last, n))

        target = make(np.zeros(n * size))
        comm.Gather(make(part(rank, n)), target if rank == last else None, root=last)
        same(target, joined(n) if rank == last else np.zeros(n * size))

        target = make(np.zeros(n * size))
        comm.Allgather(make(part(rank, n)), target)
        same(target, joined(n))
        target = make(np.where(np.arange(n * size) // max(n, 1) == rank, joined(n), 0))
        comm.Allgather(MPI.IN_PLACE, target)
        same(target, joined(n))

        target = make(np.zeros(n))
        comm.Scatter(make(joined(n)) if rank == 0 else None, target)
        same(target, part(rank, n))

        whole = np.concatenate([part(rank * size + other, n) for other in ranks])
        expected = np.concatenate([part(other * size + rank, n) for other in ranks])
        target = make(np.zeros(n * size))
        comm.Alltoall(make(whole), target)
        same(target, expected)
        target = make(whole)
        comm.Alltoall(MPI.IN_PLACE, target)
        same(target, expected)

        for op, numpy_op in ((MPI.SUM, np.add), (MPI.MAX, np.maximum), (MPI.PROD, np.multiply)):
            expected = numpy_op.reduce([part(owner, n) for owner in ranks])
            target = make(np.zeros(n))
            comm.Allreduce(make(part(rank, n)), target, op)
            same(target, expected)
            target = make(part(rank, n))
            comm.Allreduce(MPI.IN_PLACE, target, op)
            same(target, expected)
            target = make(np.zeros(n))
            comm.Reduce(make(part(rank, n)), target if rank == last else None, op, root=last)
            same(target, expected if rank == last else np.zeros(n))
            target = make(part(rank, n))
            comm.Reduce(MPI.IN_PLACE if rank == 0 else target, target if rank == 0 else None, op)
            same(target, expected if rank == 0 else part(rank, n))

for dtype in (np.int8, np.uint16, np.int32, np.int64, np.float32, np.complex64, np.complex128):
    target = device((np.arange(300) % 31 + rank).astype(dtype))  # sums without an overflow
    comm.Allreduce(MPI.IN_PLACE, target)
    same(target, (np.arange(300) % 31 * size + sum(ranks)).astype(dtype))
flags = device(np.arange(50) % size == rank)
comm.Allreduce(MPI.IN_PLACE, flags, MPI.LOR)
assert flags.get().all()
for dtype in (np.float16, [("a", np.int8), ("b", np.int32)]):  # moved as bytes
    data = np.zeros(400, dtype)
    data.view(np.uint8)[:] = np.arange(data.nbytes) % 255
    target = device(data if rank == 0 else np.zeros(400, dtype))
    comm.Bcast(target)
    same(target.get().view(np.uint8), data.view(np.uint8))


def furthest(left, right, datatype):
    """An operation of one's own."""
    first, second = (np.frombuffer(memory, np.float64) for memory in (left, right))
    second[:] = np.where(abs(first) > abs(second), first, second)


op = MPI.Op.Create(furthest, commute=True)
values = device(np.linspace(-1, 1, 500) * (1 if rank == last else 0.5))
comm.Allreduce(MPI.IN_PLACE, values, op)
same(values, np.linspace(-1, 1, 500))
op.Free()

# Messages in pieces advance while a collective waits for the other ranks.
if size > 1:
    big = device(part(rank, 4000))
    requests = []
    if rank == 0:
        requests = [comm.Isend(big, 1)]
    elif rank == 1:
        comm.Recv(target := cupola.zeros(4000), 0)
        same(target, part(0, 4000))
    total = device(np.ones(3))
    comm.Allreduce(MPI.IN_PLACE, total)
    same(total, np.full(3, float(size)))
    for request in requests:
        request.wait()

# The sum of a stream's work.
stream = cupola.Stream()
with stream:
    x = cupola.zeros(100_000)
    for _ in range(10):
        x += 1.0
comm.Allreduce(MPI.IN_PLACE, x, stream=stream)
with stream:
    assert (x.get() == 10 * size).all()

comm.Free()
print("all as expected")
