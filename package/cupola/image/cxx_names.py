# cupola/image/cxx_names.py - C++ names of functions and types, from their linkage names.
"""Converts linkage names to C++ names.

cupola.build uses this module, also before cupola can be imported.
"""

from __future__ import annotations

import ctypes


def demangle(name: str) -> str:
    """The C++ name for a linkage name; other names are returned unchanged."""
    if not name.startswith("_Z"):
        return name
    try:
        function = ctypes.CDLL("libstdc++.so.6")["__cxa_demangle"]
    except (OSError, AttributeError):
        return name
    function.restype = ctypes.c_void_p
    status = ctypes.c_int()
    text = function(name.encode(), None, None, ctypes.byref(status))
    if not text:
        return name
    try:
        return ctypes.string_at(text).decode("utf-8", "replace")
    finally:
        release = ctypes.CDLL(None)["free"]
        release.argtypes = [ctypes.c_void_p]
        release(text)
