# cupola/toolkit/math_library.py - calls of a library of NVIDIA's that computes on a device.
"""`MathLibrary`: the base of cuBLAS and cuFFT."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from cupola.exceptions import DriverError
from cupola.toolkit.libraries import Library


class MathLibrary:
    """A loaded library whose functions return a status.

    Parameters
    ----------
    found : Library
    title : str
        Its name in errors.
    prototypes : dict
        The argument types of its functions by their names.
    oldest : str
        The first version with all of them.

    Attributes
    ----------
    found : Library
    title : str
    lock : threading.Lock
        A handle has one stream at a time: it is held from the choice of the stream to the call.
    """

    def __init__(
        self, found: Library, title: str, prototypes: Mapping[str, list[Any]], oldest: str
    ) -> None:
        self.title = title
        self.lock = threading.Lock()
        self.found = found
        self._calls = found.calls(prototypes, oldest)

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function.

        Raises
        ------
        DriverError
            Where its status is not 0.
        """
        status = self._calls[name](*arguments)
        if status:
            raise DriverError(f"{self.title}: {name} failed with the status {status}")
