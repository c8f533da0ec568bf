# cupola/nccl/library.py - NCCL's library: its calls, its version, its errors.
"""NCCL, found at the first use."""

from __future__ import annotations

import functools
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_size_t, c_ubyte, c_void_p
from typing import Any

from cupola.device import Device, is_cpu
from cupola.exceptions import DriverError, Error
from cupola.toolkit import libraries
from cupola.toolkit.math_library import MathLibrary

OLDEST = (2, 18, 0)
FLOAT8 = (2, 24, 0)  # the first version with types of 8-bit floating point
ID_BYTES = 128
IN_PROGRESS = 7  # ncclInProgress


class Id(Structure):
    """NCCL's ncclUniqueId, which is passed by value."""

    _fields_ = [("content", c_ubyte * ID_BYTES)]


_END = [c_void_p, c_void_p]  # communicator, stream
_TWO = [c_void_p, c_void_p, c_size_t, c_int]  # two buffers, the number of elements, their type
_PROTOTYPES: dict[str, list[Any]] = {
    "ncclGetVersion": [POINTER(c_int)],
    "ncclGetUniqueId": [POINTER(Id)],
    "ncclCommInitRank": [POINTER(c_void_p), c_int, Id, c_int],
    "ncclCommDestroy": [c_void_p],
    "ncclCommAbort": [c_void_p],
    "ncclCommGetAsyncError": [c_void_p, POINTER(c_int)],
    "ncclGroupStart": [],
    "ncclGroupEnd": [],
    "ncclAllReduce": [*_TWO, c_int, *_END],
    "ncclReduce": [*_TWO, c_int, c_int, *_END],
    "ncclBroadcast": [*_TWO, c_int, *_END],
    "ncclAllGather": [*_TWO, *_END],
    "ncclReduceScatter": [*_TWO, c_int, *_END],
    "ncclSend": [c_void_p, c_size_t, c_int, c_int, *_END],
    "ncclRecv": [c_void_p, c_size_t, c_int, c_int, *_END],
}


class Nccl(MathLibrary):
    """The loaded library.

    Parameters
    ----------
    found : libraries.Library

    Attributes
    ----------
    version : tuple of int
    """

    def __init__(self, found: libraries.Library) -> None:
        oldest = "NCCL " + ".".join(map(str, OLDEST[:2]))
        super().__init__(found, "NCCL", _PROTOTYPES, oldest)
        self._texts = {}
        for name, arguments in (("ncclGetErrorString", [c_int]), ("ncclGetLastError", [c_void_p])):
            text = found.library[name]
            text.argtypes, text.restype = arguments, c_char_p
            self._texts[name] = text
        code = c_int()
        self.call("ncclGetVersion", byref(code))
        self.version = code.value // 10000, code.value // 100 % 100, code.value % 100
        if self.version < OLDEST:
            raise Error(
                f"{found.path} is NCCL {'.'.join(map(str, self.version))}; cupola.nccl needs "
                f"{oldest} or newer: pip install 'cupola[nccl]'"
            )

    def call(
        self, name: str, *arguments: Any, title: str = "nccl", handle: c_void_p | None = None
    ) -> None:
        """Call a function; the GIL is released meanwhile.

        Parameters
        ----------
        name : str
        *arguments
        title : str
            The operation and the rank, for an error.
        handle : c_void_p, optional
            The communicator whose last error is shown.

        Raises
        ------
        DriverError
            Where its status is neither success nor "in progress".
        """
        status = self._calls[name](*arguments)
        if status not in (0, IN_PROGRESS):
            raise self.error(f"{title}: {name} failed with", status, handle)

    def end_failed_group(self) -> None:
        """End a group in which a call failed. The group's status is the call's status."""
        self._calls["ncclGroupEnd"]()

    def error(self, what: str, status: int, handle: c_void_p | None) -> DriverError:
        """An error with NCCL's texts for a status."""
        meaning = self._texts["ncclGetErrorString"](status).decode(errors="replace")
        last = self._texts["ncclGetLastError"](handle) or b""
        said = last.decode(errors="replace").strip()
        more = f"NCCL's last error: {said}" if said else "NCCL_DEBUG=WARN makes NCCL print more"
        return DriverError(f"{what} the status {status} ({meaning}); {more}")


def library(title: str, device: int) -> Nccl:
    """NCCL for a device.

    Raises
    ------
    MissingFileError
        Where it is not installed.
    Error
        On the CPU device, or where it is older than 2.18.
    """
    if is_cpu(device):
        raise Error(
            f"{title}: NCCL communicates between GPUs alone, and device {device} is the CPU device:"
            " use cupola.mpi there, or run on GPUs"
        )
    return _installed()


@functools.cache
def _installed() -> Nccl:
    return Nccl(libraries.load("nccl"))


def version() -> tuple[int, int, int]:
    """The version of the NCCL that is found, as ``(2, 28, 9)``.

    Raises
    ------
    MissingFileError
        Where it is not installed.
    Error
        Where the current device is the CPU device, or NCCL is older than 2.18.
    """
    return library("nccl.version", Device().index).version
