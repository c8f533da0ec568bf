# cupola/tools/run/analysis.py - the analysis of kernels by the CPU device's compiler.
"""The operations of kernels as text, from the CPU device's library itself."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from cupola import paths
from cupola.exceptions import Error


def texts(image: bytes, names: Sequence[str]) -> list[str]:
    """Return the operations of each kernel, with what is known of their operands.

    The CPU device is loaded into the process, and the image is loaded on it.

    Parameters
    ----------
    image
        The bytes of a PTX file or a fatbin.
    names
        Symbols of kernels.

    Returns
    -------
    list of str
        One text for each name, in their order.

    Raises
    ------
    Error
        The CPU device does not take the image, or has no such kernel.
    """
    library = ctypes.CDLL(paths.cpu_driver())
    library.cupola_cpu_ir.restype = library.cupola_cpu_last_refusal.restype = ctypes.c_char_p

    def check(code: int, what: str) -> None:
        if code:
            why = library.cupola_cpu_last_refusal().decode(errors="replace")
            raise Error(f"the CPU device cannot load {what}: {why or f'error {code}'}")

    context, module = ctypes.c_void_p(), ctypes.c_void_p()
    check(library.cuInit(0), "its driver")
    check(library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), "a context")
    check(library.cuCtxSetCurrent(context), "a context")
    check(library.cuModuleLoadData(ctypes.byref(module), image + b"\0"), "the image")
    found = []
    for name in names:
        function = ctypes.c_void_p()
        check(library.cuModuleGetFunction(ctypes.byref(function), module, name.encode()), name)
        found.append(library.cupola_cpu_ir(function).decode(errors="replace"))
    library.cuModuleUnload(module)
    return found
