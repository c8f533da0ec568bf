# cupola/mpi/__main__.py - mpiexec -n 2 python -m cupola.mpi: each rank's device and transport.
"""Print how each rank gives device memory to MPI."""

from __future__ import annotations

from mpi4py import MPI

from cupola.device import Device
from cupola.mpi.transport import transport


def main() -> None:
    """The program: one line a rank, in their order."""
    comm = MPI.COMM_WORLD
    host = MPI.Get_processor_name()
    own = f"rank {comm.Get_rank()} on {host}, {Device().name}: {transport()}"
    lines = comm.gather(own)
    if lines is not None:
        print("\n".join(lines), flush=True)


if __name__ == "__main__":
    main()
