# cupola/core/numpy_names.py - replacements for functions of NumPy that cupola does not have.
"""The text of the error for NumPy's and CuPy's names; imported when there is such an error."""

from __future__ import annotations

from collections.abc import Collection
from importlib.machinery import PathFinder
from os.path import dirname, join

from cupola.core.parts import missing_part, part_of

# Names of array methods. NumPy's functions of these names call the methods, or compute the same.
METHODS = ("all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "sum")
METHODS_ALONE = ("astype", "ravel", "reshape", "transpose")
# Functions whose numbers the host computes.
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
# Libraries that compute with device arrays, for what cupola has no kernels for.
ELSEWHERE = "CuPy or PyTorch through DLPack: cupy.from_dlpack(x)"
# Modules of CuPy, and what has their functions.
MODULES_OF_CUPY = {
    "cuda": "devices, streams and memory are names of cupola: cupola.Device, cupola.Stream",
    "cudart": "devices, streams and memory are names of cupola: cupola.Device, cupola.Stream",
    "ndimage": "use scipy.ndimage on host copies, x.get(), or cupyx.scipy.ndimage",
    "scipy": "use scipy on host copies, x.get(), or cupyx.scipy",
    "sparse": "use scipy.sparse on host copies, x.get(), or cupyx.scipy.sparse",
    "special": "use scipy.special on host copies, x.get(), or cupyx.scipy.special",
}


def missing(module: str, name: str, methods: Collection[str] = ()) -> Exception:
    """Make the error for a name that a module of cupola does not have.

    Parameters
    ----------
    module : str
        The module's whole name, such as ``"cupola.linalg"``.
    name : str
    methods : collection of str
        The methods of a random generator, which NumPy also has as functions of a module.

    Returns
    -------
    AttributeError
        For a name of NumPy or CuPy, it says what to use.
    MissingFileError
        For a folder of cupola that is not installed.
    """
    instead = ""
    # ``from cupola import module`` looks for the name before it imports the module.
    place = join(dirname(dirname(dirname(__file__))), *module.split("."))
    if not name.startswith("_") and PathFinder.find_spec(f"{module}.{name}", [place]) is None:
        if module == "cupola" and (part := part_of(f"cupola.{name}")):
            return missing_part(f"cupola.{name}", part)
        instead = remedy(name) if module == "cupola" else remedy_of(module, name, methods)
    if instead:
        return AttributeError(f"{module} has no {name}: {instead}", name=name)
    return AttributeError(f"module {module!r} has no attribute {name!r}", name=name)


def remedy_of(module: str, name: str, methods: Collection[str]) -> str:
    """The replacement for a name of ``cupola.linalg``, ``cupola.fft`` or ``cupola.random``."""
    import numpy as np

    family = module.partition(".")[2]
    found = vars(getattr(np, family, np)).get(name)
    if family == "random" and callable(found):
        if name in methods:
            return f"use cupola.random.default_rng(seed).{name}(...)"
        return "make a generator with cupola.random.default_rng(seed), which has the distributions"
    if isinstance(found, type):
        return f"use numpy.{family}.{name}"
    if family in ("fft", "linalg") and callable(found):
        return f"use numpy.{family}.{name} on host copies, x.get(), or {ELSEWHERE}"
    return ""


def remedy(name: str) -> str:
    """The replacement for ``cupola.<name>``; empty where the name is none of NumPy's."""
    import numpy as np

    if name in MODULES_OF_CUPY:
        return MODULES_OF_CUPY[name]
    if name in OTHERS:
        return OTHERS[name]
    if name in METHODS:
        return f"use x.{name}() or numpy.{name}(x), which compute on the device"
    if name in METHODS_ALONE:
        return f"use x.{name}()"
    if name in MADE_ON_THE_HOST:
        return f"copy NumPy's result to the device: cupola.to_device(numpy.{name}(...))"
    if name not in (*vars(np), *MODULES):
        return ""
    found = vars(np).get(name)
    if isinstance(found, type) and issubclass(found, np.generic):
        return f"use numpy.{name}"
    if isinstance(found, np.ufunc):
        return f"use numpy.{name}(x), which computes on the device where there is a kernel for it"
    return f"use numpy.{name} on host copies, x.get(), or {ELSEWHERE}"
