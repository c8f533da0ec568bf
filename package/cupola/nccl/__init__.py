# cupola/nccl/__init__.py - collective operations on arrays of several GPUs, by NVIDIA's NCCL.
"""Collective operations on arrays of several GPUs, by NVIDIA's NCCL.

NCCL's library is found at the first use: ``pip install 'cupola[nccl]'``, the copy that PyTorch
brings, or a ``libnccl.so.2`` in ``LD_LIBRARY_PATH``. Without it, and on the CPU device, a call
raises an error.

Operations are queued on a stream and return at once. Arrays must be contiguous in C order; no
copies are made. All ranks of a communicator call the same operations in the same order, with the
same number of elements and the same type.
"""

from __future__ import annotations

from cupola.nccl.communicator import Communicator
from cupola.nccl.group import group
from cupola.nccl.library import version
from cupola.nccl.unique_id import UniqueId

__all__ = ["Communicator", "UniqueId", "group", "version"]


def __dir__() -> list[str]:
    return sorted(__all__)
