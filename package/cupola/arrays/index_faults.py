# cupola/arrays/index_faults.py - indices out of range that kernels reported.
"""The pages that kernels report to, and the errors of these reports."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np

from cupola.array import Array
from cupola.creation import empty_pinned
from cupola.error import AFTER_WAIT

# FaultPage of csrc/kernels/algorithms/index.cu
_FAULT = np.dtype(
    [("claimed", "i4"), ("written", "i4"), ("index", "i8"), ("size", "i8"), ("site", "i8")]
)


class _Page(NamedTuple):
    host: np.ndarray[Any, Any]  # page-locked, of _FAULT
    array: Array  # the same memory


_lock = threading.Lock()
_pages: dict[int, _Page] = {}
_sites: dict[tuple[str, int], int] = {}


def page_of(device: int) -> Array:
    """The page of a device, for kernels that report to it."""
    page = _pages.get(device)
    if page is None:
        with _lock:
            page = _pages.get(device) or _made(device)
    return page.array


def site_of(title: str, axis: int) -> int:
    """The number of a function and an axis, by which a report names them."""
    with _lock:
        return _sites.setdefault((title, axis), len(_sites))


def raise_reported(device: int) -> None:
    """Raise the error that a kernel of the device reported; later work may report again.

    Raises
    ------
    IndexError
    """
    page = _pages.get(device)
    if page is None or not page.host["written"][0]:
        return
    with _lock:
        if not page.host["written"][0]:  # another thread raises it
            return
        fault = page.host[0].copy()
        page.host[...] = 0
        title, axis = list(_sites)[int(fault["site"])]
    raise IndexError(
        f"{title}: index {fault['index']} is out of bounds for axis {axis} with size "
        f"{fault['size']}; the device found it in work that was queued before"
    )


def _made(device: int) -> _Page:
    words = empty_pinned(_FAULT.itemsize // 8, np.int64, device=device)
    words[...] = 0
    array = Array.from_address(
        words.__array_interface__["data"][0], words.shape, np.int64, owner=words, device=device
    )
    _pages[device] = _Page(words.view(_FAULT), array)
    AFTER_WAIT[0] = raise_reported
    return _pages[device]
