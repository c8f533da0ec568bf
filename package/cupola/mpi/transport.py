# cupola/mpi/transport.py - asks the MPI library at run time whether it takes device pointers.
"""How device memory gets into MPI messages."""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING, NamedTuple

from mpi4py import MPI

from cupola.device import Device, is_cpu
from cupola.exceptions import ArgumentTypeError, ArgumentValueError

if TYPE_CHECKING:
    from cupola.device import _DeviceLike

DEVICE_POINTERS = "device pointers"
CPU_MEMORY = "host memory of the CPU device"
STAGED = "staged through pinned memory"

VARIABLE = "CUPOLA_MPI_DEVICE_POINTERS"

# MPICH's number of CUDA for MPIX_GPU_query_support.
MPIX_GPU_SUPPORT_CUDA = 0

# Variables that switch device pointers on in libraries that have no function to ask.
VENDOR_VARIABLES = ("MV2_USE_CUDA", "MVP_USE_CUDA", "MPICH_GPU_SUPPORT_ENABLED")


class Transport(NamedTuple):
    """How a rank gives device memory to MPI.

    Attributes
    ----------
    name : str
        ``"device pointers"``, ``"host memory of the CPU device"`` or
        ``"staged through pinned memory"``.
    reason : str
    library : str
        The name and version of the MPI library.
    """

    name: str
    reason: str
    library: str

    @property
    def staged(self) -> bool:
        """Whether messages are copied through page-locked memory."""
        return self.name == STAGED

    def __str__(self) -> str:
        return f"{self.name}: {self.reason} ({self.library})"


def transport(
    device: _DeviceLike | None = None, *, device_pointers: bool | None = None
) -> Transport:
    """How this process gives memory of a device to MPI.

    A `Communicator` stages on all ranks where it stages on one: see `Communicator.transport`.

    Parameters
    ----------
    device : Device or int, optional
        By default the current one.
    device_pointers : bool, optional
        Whether MPI gets device pointers. By default ``CUPOLA_MPI_DEVICE_POINTERS`` decides, and
        without that variable the MPI library's answer. False stages, on the CPU device too.

    Returns
    -------
    Transport

    Raises
    ------
    ArgumentError
        Where `device_pointers` is no bool, or the variable is neither 0 nor 1.
    """
    chosen, by = _override(device_pointers)
    library = f"{library_name()} {'.'.join(map(str, MPI.get_vendor()[1]))}"
    if chosen is False:
        return Transport(STAGED, f"{by} says so", library)
    if is_cpu(Device(device).index):
        return Transport(CPU_MEMORY, "the device's memory is this process's own", library)
    if chosen:
        return Transport(DEVICE_POINTERS, f"{by} says so", library)
    supported, reason = library_support()
    return Transport(DEVICE_POINTERS if supported else STAGED, reason, library)


def _override(device_pointers: bool | None) -> tuple[bool | None, str]:
    if device_pointers is not None:
        if not isinstance(device_pointers, bool):
            raise ArgumentTypeError(
                f"device_pointers= must be True, False or None, got {device_pointers!r}"
            )
        return device_pointers, f"device_pointers={device_pointers}"
    value = os.environ.get(VARIABLE, "")
    if value not in ("", "0", "1"):
        raise ArgumentValueError(f"{VARIABLE} is {value!r}: expected 0 or 1")
    return (value == "1" if value else None), f"{VARIABLE}={value}"


def library_name() -> str:
    """The name of the MPI library, such as ``"MPICH"`` or ``"Open MPI"``."""
    return MPI.get_vendor()[0]


def library_support() -> tuple[bool, str]:
    """Whether the MPI library takes device pointers of CUDA, and why this is known."""
    library = loaded_library()
    if hasattr(library, "MPIX_GPU_query_support"):
        answer = ctypes.c_int(0)
        status = library.MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, ctypes.byref(answer))
        if status == MPI.SUCCESS:
            supported = bool(answer.value)
            return supported, f"MPIX_GPU_query_support says {'yes' if supported else 'no'}"
    if hasattr(library, "MPIX_Query_cuda_support"):
        supported = bool(library.MPIX_Query_cuda_support())
        return supported, f"MPIX_Query_cuda_support says {'yes' if supported else 'no'}"
    for name in VENDOR_VARIABLES:
        if os.environ.get(name) == "1":
            return True, f"{name}=1"
    return False, (
        f"the library has no function to ask, and none of {', '.join(VENDOR_VARIABLES)} is 1; "
        f"set {VARIABLE}=1 if it takes device pointers"
    )


def loaded_library() -> ctypes.CDLL:
    """The MPI library of mpi4py: symbols are searched in its extension and what that links."""
    return ctypes.CDLL(MPI.__file__)
