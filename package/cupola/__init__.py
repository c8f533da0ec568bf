# cupola/__init__.py - the public names, each imported at its first use.
"""Ship and use precompiled CUDA kernels, with and without a GPU.

::

    import numpy as np, cupola

    picture = cupola.mandelbrot(512)            # shipped kernels are functions

    module = cupola.load("saxpy.fatbin")        # load your own image
    saxpy = module["saxpy"]
    x = cupola.to_device(np.arange(n, dtype=np.float32))
    out = cupola.empty_like(x)
    saxpy.forall(n)(2.0, x, x, out, n)
    out.get()

Importing cupola loads no driver; the first call that needs one does. ``python -m cupola info``
shows the chosen driver and the reason.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from threading import RLock as _RLock

from cupola.core import library as _library
from cupola.deprecation import renamed as _renamed
from cupola.exceptions import (
    ArgumentError,
    ArgumentTypeError,
    ArgumentValueError,
    ChunkError,
    CompileError,
    DeviceAssertionError,
    DriverError,
    Error,
    ExchangeError,
    ImageError,
    LibraryError,
    MissingFileError,
    NotFoundError,
    OutOfMemoryError,
    UnknownNameError,
)
from cupola.version import __version__

_library.load()  # before the first compiled module, which binds to it

from cupola import abi as _abi  # noqa: E402, F401 - checks that the library is of the same build

_HOMES = {
    "Array": "array",
    "Chunk": "pipelines",
    "CudaArray": "texture",
    "Device": "device",
    "Event": "event",
    "Graph": "graph",
    "GraphExec": "graph_exec",
    "In": "transfer",
    "InOut": "transfer",
    "Kernel": "kernel",
    "Memory": "memory",
    "Module": "module",
    "Out": "transfer",
    "Pool": "pool",
    "PreparedLaunch": "launch",
    "Profile": "tools.timeline",
    "Stream": "stream",
    "Surface": "texture",
    "Texture": "texture",
    "allclose": "algorithms.comparisons",
    "alloc": "memory",
    "append": "algorithms.joins",
    "arange": "creation",
    "argpartition": "algorithms.order_statistics",
    "argsort": "algorithms.sorts",
    "argwhere": "algorithms.selection",
    "array_equal": "algorithms.comparisons",
    "array_split": "algorithms.splits",
    "asarray": "creation",
    "atleast_1d": "algorithms.shapes",
    "atleast_2d": "algorithms.shapes",
    "atleast_3d": "algorithms.shapes",
    "bincount": "algorithms.histograms",
    "broadcast_arrays": "algorithms.shapes",
    "broadcast_to": "algorithms.shapes",
    "clip": "algorithms.arithmetic",
    "column_stack": "algorithms.joins",
    "compile": "compiler",
    "compress": "algorithms.selection",
    "concatenate": "algorithms.joins",
    "convolve": "kernels",
    "count_nonzero": "algorithms.selection",
    "cross": "algorithms.matrices",
    "cumprod": "algorithms.scans",
    "cumsum": "algorithms.scans",
    "cumulative_prod": "algorithms.scans",
    "cumulative_sum": "algorithms.scans",
    "delete": "algorithms.arrangement",
    "devices": "device",
    "diag": "algorithms.matrices",
    "diagonal": "algorithms.matrices",
    "diff": "algorithms.arithmetic",
    "digitize": "algorithms.searching",
    "dot": "algorithms.products",
    "dsplit": "algorithms.splits",
    "dstack": "algorithms.joins",
    "elementwise": "makers",
    "empty": "creation",
    "empty_like": "creation",
    "empty_pinned": "creation",
    "expand_dims": "algorithms.shapes",
    "extract": "algorithms.selection",
    "flatnonzero": "algorithms.selection",
    "flip": "algorithms.arrangement",
    "fliplr": "algorithms.arrangement",
    "flipud": "algorithms.arrangement",
    "from_dlpack": "dlpack",
    "full": "creation",
    "full_like": "creation",
    "get_include": "paths",
    "hello": "kernels",
    "histogram": "algorithms.histograms",
    "hsplit": "algorithms.splits",
    "hstack": "algorithms.joins",
    "inner": "algorithms.products",
    "insert": "algorithms.arrangement",
    "interp": "algorithms.interpolation",
    "intersect1d": "algorithms.sets",
    "isclose": "algorithms.comparisons",
    "isin": "algorithms.sets",
    "lexsort": "algorithms.sorts",
    "load": "core.loader",
    "managed": "creation",
    "mandelbrot": "kernels",
    "matmul": "algorithms.products",
    "median": "algorithms.quantiles",
    "memory_info": "device",
    "moveaxis": "algorithms.shapes",
    "nanargmax": "algorithms.nan_reductions",
    "nanargmin": "algorithms.nan_reductions",
    "nanmax": "algorithms.nan_reductions",
    "nanmean": "algorithms.nan_reductions",
    "nanmin": "algorithms.nan_reductions",
    "nanprod": "algorithms.nan_reductions",
    "nansum": "algorithms.nan_reductions",
    "nonzero": "algorithms.selection",
    "ones": "creation",
    "ones_like": "creation",
    "op": "ops",
    "outer": "algorithms.products",
    "pad": "algorithms.padding",
    "partition": "algorithms.order_statistics",
    "percentile": "algorithms.quantiles",
    "pipeline": "chunks",
    "profile": "tools.timeline",
    "put": "algorithms.indexing",
    "put_along_axis": "algorithms.indexing",
    "quantile": "algorithms.quantiles",
    "ravel_multi_index": "algorithms.flat_indices",
    "reduction": "makers",
    "register_host": "memory",
    "repeat": "algorithms.arrangement",
    "roll": "algorithms.arrangement",
    "rollaxis": "algorithms.shapes",
    "rot90": "algorithms.arrangement",
    "round": "algorithms.comparisons",
    "saxpy": "kernels",
    "scan": "makers",
    "searchsorted": "algorithms.searching",
    "set_trace": "tools.debug",
    "setdiff1d": "algorithms.sets",
    "setxor1d": "algorithms.sets",
    "shipped_kernels": "kernels",
    "sort": "algorithms.sorts",
    "split": "algorithms.splits",
    "squeeze": "algorithms.shapes",
    "stack": "algorithms.joins",
    "std": "algorithms.statistics",
    "swapaxes": "algorithms.shapes",
    "take": "algorithms.indexing",
    "take_along_axis": "algorithms.indexing",
    "tensordot": "algorithms.products",
    "tile": "algorithms.arrangement",
    "to_device": "creation",
    "top_k": "algorithms.order_statistics",
    "trace": "algorithms.matrices",
    "tril": "algorithms.matrices",
    "triu": "algorithms.matrices",
    "union1d": "algorithms.sets",
    "unique": "algorithms.sets",
    "unravel_index": "algorithms.flat_indices",
    "var": "algorithms.statistics",
    "vdot": "algorithms.products",
    "vsplit": "algorithms.splits",
    "vstack": "algorithms.joins",
    "where": "algorithms.selection",
    "zeros": "creation",
    "zeros_like": "creation",
}
# Internal names with "_" before them. A method that returns an object of a module above its own
# imports the class or function from here, so that no module imports a higher one.
_INTERNAL_HOMES = {
    "_Capture": "capture",
    "_TextureReferences": "texture_reference",
    "_Variables": "variable",
    "_accumulate": "algorithms.scans",
    "_array": "creation",
    "_dot": "algorithms.products",
    "_get_items": "algorithms.keys",
    "_instantiate": "graph_exec",
    "_matmul": "algorithms.products",
    "_numpy_functions": "algorithms.numpy_functions",
    "_reduceat": "algorithms.segments",
    "_set_items": "algorithms.keys",
    "_take_array": "creation",
}
# Old names, which warn.
_RENAMED = {"Launch": "PreparedLaunch", "pinned_empty": "empty_pinned"}
# Modules that moved, by their old names, which warn.
_MOVED = {"nvrtc": "toolkit.nvrtc"}
# Threads that first use different names import one after another.
_importing = _RLock()
_SUBMODULES = (
    "array",
    "array_api",
    "build",
    "cache",
    "coverage",
    "driver",
    "exceptions",
    "fft",
    "kernels",
    "linalg",
    "paths",
    "random",
)

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "ArgumentValueError",
    "ChunkError",
    "CompileError",
    "DeviceAssertionError",
    "DriverError",
    "Error",
    "ExchangeError",
    "ImageError",
    "LibraryError",
    "MissingFileError",
    "NotFoundError",
    "OutOfMemoryError",
    "UnknownNameError",
    "__version__",
    *_HOMES,
    *_SUBMODULES,
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name) or _INTERNAL_HOMES.get(name)
    if home:
        with _importing:
            value = getattr(_import_module(f"cupola.{home}"), name.removeprefix("_"))
        globals()[name] = value
        return value
    if name in _SUBMODULES:
        with _importing:
            return _import_module(f"cupola.{name}")
    if name in _RENAMED:
        _renamed(f"cupola.{name}", f"cupola.{_RENAMED[name]}", stacklevel=3)
        return __getattr__(_RENAMED[name])
    if name in _MOVED:
        _renamed(f"cupola.{name}", f"cupola.{_MOVED[name]}", stacklevel=3)
        with _importing:
            return _import_module(f"cupola.{_MOVED[name]}")
    from cupola.core.numpy_names import missing

    raise missing("cupola", name)


def __dir__() -> list[str]:
    """The public names, and those that Python itself gives a module."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
