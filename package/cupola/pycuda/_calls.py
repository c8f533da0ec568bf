# cupola/pycuda/_calls.py - calls of the CUDA driver that cupola's own interface does not have.
"""The driver that cupola chose, called through ctypes, which releases the GIL."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from cupola.pycuda._errors import LogicError, class_of


@functools.cache
def library() -> ctypes.CDLL:
    """The driver's library; loads and initializes the driver."""
    from cupola import driver

    return ctypes.CDLL(driver.info().path)


@functools.cache
def function(name: str) -> Any:
    """A function of the driver by its exact name.

    Raises
    ------
    LogicError
        Where the driver has none: newer drivers have lost some.
    """
    try:
        return getattr(library(), name)
    except AttributeError:
        raise LogicError(f"the driver, {library()._name}, has no function {name}") from None


def text(code: int) -> tuple[str, str]:
    """The name and the description of a result code."""
    found = []
    for call in ("cuGetErrorName", "cuGetErrorString"):
        pointer = ctypes.c_char_p()
        function(call)(code, ctypes.byref(pointer))
        found.append((pointer.value or b"unknown error").decode())
    return found[0], found[1]


def call(name: str, *arguments: Any) -> None:
    """Call a function of the driver. Needs a current context where the function does.

    Raises
    ------
    Error
        Of the class that PyCUDA has for the result.
    """
    code = function(name)(*arguments)
    if code:
        label, description = text(code)
        raise class_of(label)(f"{name.partition('_v')[0]} failed: {description}")


def value(kind: Any, name: str, *arguments: Any) -> Any:
    """The value that a function of the driver writes to its first argument."""
    out = kind()
    call(name, ctypes.byref(out), *arguments)
    return out.value
