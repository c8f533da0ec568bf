"""One rank raises an error while the others wait for it."""

from mpi4py import MPI

import cupola
from cupola.mpi import Communicator

comm = Communicator(MPI.COMM_WORLD)
array = cupola.zeros(1 << 20)
if comm.rank == 1:
    comm.Send("no array", 0)
comm.Recv(array, (comm.rank + 1) % comm.size)
