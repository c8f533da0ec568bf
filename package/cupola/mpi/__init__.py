# cupola/mpi/__init__.py - device arrays in MPI messages and collectives, over mpi4py.
"""MPI for device arrays, over mpi4py: ``pip install 'cupola[mpi]'``.

::

    from mpi4py import MPI
    from cupola.mpi import Communicator

    comm = Communicator(MPI.COMM_WORLD)
    comm.Allreduce(MPI.IN_PLACE, array)

A `Communicator` gives MPI the device pointers where the library takes them, and copies through
page-locked memory else. `transport` says which, and why. ``mpiexec -n 2 python -m cupola.mpi``
prints it for each rank.

The import imports ``mpi4py.MPI``, which initializes MPI.
"""

from __future__ import annotations

try:
    import mpi4py as _mpi4py
except ImportError as error:
    raise ImportError(
        "cupola.mpi needs mpi4py, which is not installed: pip install 'cupola[mpi]'"
    ) from error

if int(_mpi4py.__version__.partition(".")[0]) < 4:
    raise ImportError(
        f"cupola.mpi needs mpi4py 4 or later, found {_mpi4py.__version__}: "
        "pip install --upgrade 'cupola[mpi]'"
    )

from cupola.mpi.communicator import Communicator
from cupola.mpi.request import PersistentRequest, Request
from cupola.mpi.transport import Transport, transport

__all__ = ["Communicator", "PersistentRequest", "Request", "Transport", "transport"]


def __dir__() -> list[str]:
    return sorted(__all__)
