# cupola/nccl/unique_id.py - the bytes by which the ranks of a communicator find each other.
"""`UniqueId`."""

from __future__ import annotations

from ctypes import byref

from cupola.device import Device
from cupola.exceptions import ArgumentTypeError, ArgumentValueError
from cupola.nccl.library import ID_BYTES, Id, library


class UniqueId(bytes):
    """128 bytes by which the ranks of a communicator find each other.

    One rank makes it, ``UniqueId()``, and sends it to the others, by MPI, Dask or a pipe. It is of
    `bytes`, and can be pickled. The process that made it must live until all ranks have their
    communicators.

    Parameters
    ----------
    content : bytes, optional
        An identifier that another process or library made. By default NCCL makes a new one.

    Raises
    ------
    MissingFileError
        Where NCCL is not installed.
    Error
        Where the current device is the CPU device.
    ArgumentTypeError, ArgumentValueError
        Where `content` is not 128 bytes.
    """

    __module__ = "cupola.nccl"

    def __new__(cls, content: bytes | None = None) -> UniqueId:
        if content is None:
            made = Id()
            library("nccl.UniqueId", Device().index).call("ncclGetUniqueId", byref(made))
            return super().__new__(cls, bytes(made.content))
        if not isinstance(content, bytes):
            raise ArgumentTypeError(
                f"nccl.UniqueId: argument content: expected bytes, got {type(content).__name__}"
            )
        if len(content) != ID_BYTES:
            raise ArgumentValueError(
                f"nccl.UniqueId: argument content: expected {ID_BYTES} bytes, got {len(content)}"
            )
        return super().__new__(cls, content)

    def __repr__(self) -> str:
        return f"<cupola.nccl.UniqueId {self[:8].hex()}...>"
