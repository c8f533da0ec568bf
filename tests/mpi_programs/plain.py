"""Arrays in mpi4py's own calls, as they are: on the CPU device, and where MPI takes pointers.

MPI libraries open the memory of other processes, so that it is not from a pool.
"""

import numpy as np
from mpi4py import MPI

import cupola
from cupola.mpi.transport import library_support

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
right, left = (rank + 1) % size, (rank - 1) % size


def exportable():
    memory = cupola.alloc(4000, exportable=True)
    return cupola.Array.from_address(memory.address, 1000, np.float32, owner=memory)


array, target = exportable(), exportable()
array[...] = np.arange(1000, dtype=np.float32) + rank
target[...] = 0
cupola.Device().synchronize()
comm.Sendrecv(array, right, 0, target, left, 0)
np.testing.assert_array_equal(target.get(), np.arange(1000) + left)
comm.Sendrecv([array[:500], MPI.FLOAT], right, 0, [target[500:], MPI.FLOAT], left, 0)
np.testing.assert_array_equal(target.get()[500:], np.arange(500) + left)
comm.Allreduce(MPI.IN_PLACE, array)
expected = sum(np.arange(1000, dtype=np.float32) + other for other in range(size))
np.testing.assert_array_equal(array.get(), expected)
supported, reason = library_support()
print(f"{'yes' if supported else 'no'}: {reason}")
