# cupola/arrays/host_words.py - words of page-locked memory to which kernels write a number.
"""`HostWord`: a number that the host reads after a wait, without a copy."""

from __future__ import annotations

import numpy as np

from cupola.array import Array
from cupola.creation import empty_pinned
from cupola.stream import Stream

_free: dict[int, list[HostWord]] = {}  # by the device


class HostWord:
    """A word that one call at a time uses.

    Attributes
    ----------
    array : Array
        Its memory for a kernel, which writes an int64.
    """

    def __init__(self, device: int) -> None:
        self.device = device
        self._host = empty_pinned(1, np.int64, device=device)
        address = self._host.__array_interface__["data"][0]
        self.array = Array.from_address(address, (1,), np.int64, owner=self._host, device=device)

    @classmethod
    def take(cls, device: int) -> HostWord:
        """A word that no other call uses."""
        try:
            return _free.setdefault(device, []).pop()
        except IndexError:
            return cls(device)

    def wait(self) -> int:
        """Wait for the current stream, and release the word.

        Returns
        -------
        int
            The number that the kernel wrote.
        """
        Stream.current(self.device).synchronize()
        number = int(self._host[0])
        _free[self.device].append(self)  # not after an error: a kernel may still write the word
        return number
