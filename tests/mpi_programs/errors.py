"""Wrong arguments: each raises an error that names argument and rank, and the next call works.

Runs with CUPOLA_CPU_DEVICES=2 on the CPU device, on three ranks.
"""

import re

import numpy as np
from mpi4py import MPI

import cupola
from cupola.mpi import Communicator, transport

comm = Communicator(MPI.COMM_WORLD, piece=1024)
rank, size = comm.rank, comm.size
assert size == 3
array, target = cupola.zeros(30), cupola.zeros(30)


def refused(kind, text, function, *arguments, **options):
    try:
        function(*arguments, **options)
    except kind as error:
        assert isinstance(error, cupola.Error), repr(error)
        assert re.search(text, str(error)), f"{text!r} is not in {str(error)!r}"
    else:
        raise AssertionError(f"no error: {text}")


here = f"on rank {rank}: "
for wrong in ([array, MPI.DOUBLE], b"bytes", None, 5):
    refused(
        TypeError, rf"Communicator.Isend {here}buf: expected a cupola.Array", comm.Isend, wrong, 0
    )
refused(ValueError, rf"Irecv {here}buf: the NumPy array is not C-", comm.Irecv, np.zeros((4, 4)).T)
refused(TypeError, rf"Isend {here}buf: an array of Python objects", comm.Isend, np.array([{}]), 0)
constant = np.zeros(30)
constant.flags.writeable = False
refused(ValueError, rf"Irecv {here}buf: the NumPy array is read-only", comm.Irecv, constant)
constant = cupola.Array.from_address(array.address, 30, owner=array, readonly=True)
refused(ValueError, rf"Irecv {here}buf: the array is read-only", comm.Irecv, constant)
if len(cupola.devices()) > 1:
    far = cupola.zeros(30, device=1)
    refused(ValueError, rf"{here}buf: the array is on device 1, and the", comm.Isend, far, 0)
    assert transport(1).name == transport(0).name
stream = cupola.Stream()
with stream.capture():
    refused(ValueError, rf"{here}buf: the stream is being captured", comm.Isend, array, 0)

# Collectives with arguments that are wrong on every rank, wrong on one rank, or right on each rank
# but different.
half = array.astype(np.float16)
refused(
    TypeError, rf"{here}recvbuf: MPI does not reduce float16", comm.Allreduce, MPI.IN_PLACE, half
)
mixed = cupola.zeros(30, np.float32)
refused(TypeError, rf"{here}recvbuf: expected float64", comm.Allreduce, array, mixed)
refused(ValueError, rf"{here}recvbuf: expected 90 elements", comm.Allgather, array, target)
short = cupola.zeros(31)
refused(ValueError, rf"{here}sendbuf: expected a multiple of 3", comm.Alltoall, short, short)
refused(ValueError, rf"{here}root: expected 0 to 2, got 3", comm.Bcast, array, 3)
if rank == 1:
    refused(TypeError, rf"{here}buf: expected a cupola.Array", comm.Bcast, "text")
else:
    refused(cupola.Error, r"Bcast: rank 1 raised an error", comm.Bcast, array)
own = array if rank < 2 else short
refused(ValueError, r"Bcast: .* bytes 240 on rank 0, 248 on rank 2", comm.Bcast, own)
own = array if rank != 1 else cupola.zeros(30, np.int64)
refused(ValueError, r"dtype <f8 on rank 0, <i8 on rank 1", comm.Allreduce, MPI.IN_PLACE, own)
refused(ValueError, r"root 0 on rank 0, 1 on rank 1", comm.Bcast, array, min(rank, 1))
own = MPI.SUM if rank < 2 else MPI.MAX
refused(ValueError, r"op SUM on rank 0, MAX on rank 2", comm.Allreduce, array, target, own)
if rank == 2:
    refused(ValueError, r"call Bcast on rank 0, Allreduce on rank 2", comm.Allreduce, array, target)
else:
    refused(ValueError, r"call Bcast on rank 0, Allreduce on rank 2", comm.Bcast, array)

# Messages that do not fit their array.
if rank == 0:
    comm.Send(array, 1)
    comm.Send(np.zeros(7, np.uint8), 1)
elif rank == 1:
    few = cupola.zeros(29)
    refused(
        ValueError, rf"{here}buf: the message is larger than the array's 232", comm.Recv, few, 0
    )
    refused(ValueError, rf"{here}buf: got 7 bytes from rank 0", comm.Recv, target, 0)
comm.Barrier()

refused(TypeError, "device_pointers= must be True", transport, device_pointers="yes")
refused(TypeError, "piece= is a number of bytes", Communicator, MPI.COMM_SELF, piece="4M")
refused(ValueError, "piece= is 64 to", Communicator, MPI.COMM_SELF, piece=8)
refused(TypeError, "takes a communicator of mpi4py", Communicator, "world")
refused(
    ValueError,
    "piece= is 1000 on rank 0 and 1001 on rank 1",
    Communicator,
    MPI.COMM_WORLD,
    piece=1000 + rank,
)
# One rank that stages makes all of them stage.
mixture = Communicator(MPI.COMM_WORLD, device_pointers=False if rank == 1 else None)
assert mixture.transport.staged
assert comm.transport.staged or rank == 1 or "rank 1 stages" in mixture.transport.reason
total = cupola.full(5, rank + 1.0)
mixture.Allreduce(MPI.IN_PLACE, total)
assert (total.get() == 6).all()

request = comm.Irecv(target, (rank - 1) % size, 9)
refused(ValueError, rf"Communicator.Free {here}1 messages are not done", comm.Free)
comm.Barrier()
comm.Send(cupola.full(30, 7.0), (rank + 1) % size, 9)
again = comm.Send_init(array, MPI.PROC_NULL)
again.Start()
request.Wait()
assert (target.get() == 7).all()
waiting = comm.Recv_init(target, (rank - 1) % size, 11)
waiting.Start()
refused(ValueError, "Start: the message before is not done", waiting.Start)
comm.Barrier()
comm.Send(array, (rank + 1) % size, 11)
waiting.Wait()
comm.Free()
print("all as expected")
