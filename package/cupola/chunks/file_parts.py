# cupola/chunks/file_parts.py - where the rows of a memory-mapped input are in its file.
"""Inputs that a worker reads from the file itself, instead of a copy through the scheduler."""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np


class OtherFileError(Exception):
    """This process does not see the file that the client has mapped."""


@dataclass(frozen=True)
class FilePart:
    """The rows of an array in C order, in a file.

    Parameters
    ----------
    path : str
    size, changed : int
        Bytes of the file, and the time of its last change in nanoseconds.
    offset : int
        Bytes before the first row.
    shape : tuple of int
    dtype : numpy.dtype
    """

    path: str
    size: int
    changed: int
    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def rows(self, start: int, stop: int) -> FilePart:
        """A part of the rows."""
        width = int(np.prod(self.shape[1:], dtype=np.int64)) * self.dtype.itemsize
        return replace(
            self, offset=self.offset + start * width, shape=(stop - start, *self.shape[1:])
        )

    def open(self) -> np.ndarray[Any, Any]:
        """The rows, mapped.

        Raises
        ------
        OtherFileError
            Where there is no such file here, or it has another size or time of change.
        """
        try:
            here = os.stat(self.path)
            if (here.st_size, here.st_mtime_ns) != (self.size, self.changed):
                raise OtherFileError(self.path)
            return np.memmap(self.path, self.dtype, "r", self.offset, self.shape)
        except OSError as error:
            raise OtherFileError(self.path) from error


def file_part(array: np.ndarray[Any, Any]) -> FilePart | None:
    """Where an array's rows are, or None where a file does not have them.

    A copy-on-write map may differ from its file, and a file without a name can't be opened.
    """
    mapped = _memmap_of(array)
    if mapped is None or not array.nbytes or not array.flags.c_contiguous:
        return None
    if mapped.filename is None or mapped.mode == "c":
        return None
    path = os.path.abspath(mapped.filename)
    try:
        if mapped.mode != "r":
            mapped.flush()  # then other machines see the written rows
        there = os.stat(path)
    except OSError:
        return None
    if there.st_ino != _mapped_inode(array.ctypes.data):
        return None  # another file took the name
    begin = mapped.offset - mapped.offset % mmap.ALLOCATIONGRANULARITY
    whole = np.frombuffer(mapped._mmap, np.uint8)
    offset = begin + array.ctypes.data - whole.ctypes.data
    if offset < begin or offset + array.nbytes > there.st_size:
        return None
    return FilePart(path, there.st_size, there.st_mtime_ns, offset, array.shape, array.dtype)


def _memmap_of(array: Any) -> Any:
    """The `numpy.memmap` whose memory an array is a view of."""
    found = None
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap) and array._mmap is not None:
            found = array
        array = array.base
    return found


def _mapped_inode(address: int) -> int:
    """The number of the file that is mapped at an address; 0 where none is."""
    with open("/proc/self/maps") as lines:
        for line in lines:
            span, _, _, _, inode = line.split()[:5]
            first, last = (int(one, 16) for one in span.split("-"))
            if first <= address < last:
                return int(inode)
    return 0
