# cupola/recording/cpu_device.py - what the CPU device tells of a replayed launch.
"""The thread that wrote an element, and the array in which a fault lies."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from cupola import paths
from cupola.device import Device
from cupola.recording.address_origin import offsets
from cupola.recording.comparison import index_text
from cupola.recording.launches import Launch

_ADDRESS = re.compile(r"\b0x([0-9a-f]{1,16})\b")
_LINE = re.compile(r"\bPTX line (\d{1,9})\b")


class CpuDevice:
    """The functions of the CPU device for replays."""

    def __init__(self, library: Any) -> None:
        self._watch = library["cupola_cpu_watch_writes"]
        self._watch.argtypes, self._watch.restype = [ctypes.c_uint64, ctypes.c_uint64], None
        self._last_write = library["cupola_cpu_last_write"]
        self._last_write.restype = ctypes.c_char_p

    @classmethod
    def of(cls, device: int) -> CpuDevice | None:
        """These functions; None for a device of another driver."""
        from cupola.driver import info

        if device < Device("cpu").index and info().kind != "cpu":
            return None
        return cls(ctypes.CDLL(paths.cpu_library()))

    @contextmanager
    def watching(self, address: int, nbytes: int) -> Iterator[None]:
        """Watch writes of bytes."""
        self._watch(address, nbytes)
        try:
            yield
        finally:
            self._watch(0, 0)

    def last_write(self) -> str:
        """The block, the thread and the line that wrote the watched bytes last, or ""."""
        return (self._last_write() or b"").decode("utf-8", "replace")


def place_of_fault(message: str, launch: Launch, begins: Sequence[int], ptx: str) -> str:
    """The element of an array at the address of a fault, or "".

    Parameters
    ----------
    message : str
        The error of the launch.
    launch : Launch
    begins : sequence of int
        The addresses of the launch's pieces of memory.
    ptx : str
        The text of the image, by which the array is found.
    """
    address, line = _ADDRESS.search(message), _LINE.search(message)
    if address is None or line is None:
        return ""
    made_of = offsets(ptx, launch.kernel, int(line[1]))
    arrays = {index for offset, index, _ in launch.pointers if offset in made_of}
    if len(arrays) != 1:
        return ""
    (index,) = arrays
    piece, place = launch.memory[index], int(address[1], 16) - begins[index]
    inside = "inside" if 0 <= place < piece.nbytes else "outside"
    return (
        f"  the address is that of {index_text(piece, place)}, {inside} of an array of "
        f"{piece.nbytes:,} bytes"
    )
