# cupola/judging/sparse.py - large device memory of which few bytes exist.
"""Reserves addresses, and maps one piece of memory to all of them, on the CPU device."""

from __future__ import annotations

import ctypes

PIECE = 64 << 20
_AROUND = 9 << 30  # bytes before and behind, which a wrapped 32-bit index of 4 bytes reaches


class _Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class _Properties(ctypes.Structure):  # CUmemAllocationProp
    _fields_ = [
        ("type", ctypes.c_int), ("handles", ctypes.c_int), ("location", _Location),
        ("metadata", ctypes.c_void_p), ("flags", ctypes.c_ubyte * 8),
    ]  # fmt: skip


class _Access(ctypes.Structure):  # CUmemAccessDesc
    _fields_ = [("location", _Location), ("flags", ctypes.c_int)]


def reserve(driver: ctypes.CDLL, nbytes: int) -> int:
    """The address of memory of that many bytes, whose contents repeat. It is never freed.

    The addresses before and behind it are reserved, too, so that no other array is there.

    Raises
    ------
    OSError
        A function of the driver fails.
    """
    size = -(-max(nbytes, 1) // PIECE) * PIECE
    here = _Location(1, 0)
    about = _Properties(1, 0, here, None)
    handle, begin = ctypes.c_uint64(), ctypes.c_uint64()
    whole, zero = ctypes.c_size_t(size + 2 * _AROUND), ctypes.c_ulonglong(0)
    _call(driver.cuMemCreate, ctypes.byref(handle), ctypes.c_size_t(PIECE),
          ctypes.byref(about), zero)  # fmt: skip
    _call(driver.cuMemAddressReserve, ctypes.byref(begin), whole, ctypes.c_size_t(0),
          ctypes.c_uint64(0), zero)  # fmt: skip
    # The end of the array is the end of the mapped memory, as far as 16 bytes allow.
    first = begin.value + _AROUND
    for at in range(0, size, PIECE):
        _call(driver.cuMemMap, ctypes.c_uint64(first + at), ctypes.c_size_t(PIECE),
              ctypes.c_size_t(0), handle, zero)  # fmt: skip
    access = _Access(here, 3)
    _call(driver.cuMemSetAccess, ctypes.c_uint64(first), ctypes.c_size_t(size),
          ctypes.byref(access), ctypes.c_size_t(1))  # fmt: skip
    return first + size - -(-nbytes // 16) * 16


def _call(function: object, *arguments: object) -> None:
    code = function(*arguments)  # type: ignore[operator]
    if code:
        raise OSError(f"{function.__name__}: error {code}")  # type: ignore[attr-defined]
