# cupola/numpy_names.py - replacements for functions of NumPy that cupola does not have.
"""The text of the error for NumPy's and CuPy's names; imported when there is such an error."""

from __future__ import annotations

from importlib.machinery import PathFinder
from os.path import dirname

# Methods of an array; numpy's functions of these names call them, or compute the same.
METHODS = ("all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "sum")
METHODS_ALONE = ("astype", "ravel", "reshape", "transpose")
# Functions of which the host makes the numbers.
MADE_ON_THE_HOST = (
    "eye",
    "frombuffer",
    "fromfile",
    "fromfunction",
    "fromiter",
    "geomspace",
    "hanning",
    "identity",
    "indices",
    "linspace",
    "loadtxt",
    "logspace",
    "meshgrid",
    "tri",
)
# Modules of NumPy that it may import lazily.
MODULES = ("ma", "polynomial")
OTHERS = {
    "ElementwiseKernel": "use cupola.elementwise(parameters, body)",
    "RawKernel": "use cupola.compile(source)[name]",
    "RawModule": "use cupola.compile(source)",
    "ReductionKernel": "use cupola.reduction(parameters, map, reduce, neutral)",
    "amax": "use x.max()",
    "amin": "use x.min()",
    "asnumpy": "use x.get()",
    "ndarray": "arrays are of the class cupola.Array; make one with cupola.empty",
    "newaxis": "use None or numpy.newaxis",
}


def remedy(name: str) -> str:
    """The replacement for ``cupola.<name>``; empty where the name is none of NumPy's."""
    # ``from cupola import module`` asks for the name before it imports the module.
    if PathFinder.find_spec(f"{__package__}.{name}", [dirname(__file__)]) is not None:
        return ""
    import numpy as np

    if name in OTHERS:
        return OTHERS[name]
    if name in METHODS:
        return f"use x.{name}() or numpy.{name}(x), which compute on the device"
    if name in METHODS_ALONE:
        return f"use x.{name}()"
    if name in MADE_ON_THE_HOST:
        return f"copy NumPy's result to the device: cupola.to_device(numpy.{name}(...))"
    if name.startswith("_") or name not in (*vars(np), *MODULES):
        return ""
    found = vars(np).get(name)
    if isinstance(found, type) and issubclass(found, np.generic):
        return f"use numpy.{name}"
    if isinstance(found, np.ufunc):
        return f"use numpy.{name}(x), which computes on the device where there is a kernel for it"
    return (
        f"use numpy.{name} on host copies, x.get(), or CuPy or PyTorch through DLPack: "
        "cupy.from_dlpack(x)"
    )
