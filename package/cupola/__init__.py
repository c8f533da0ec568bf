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

import os as _os

from cupola import exceptions as _exceptions
from cupola import library as _library
from cupola.core import registry as _registry
from cupola.exceptions import *  # noqa: F403
from cupola.version import __version__

# Before the first compiled module, which binds to the library.
_library.load()
_library.refuse_truncated_modules(__path__)  # noqa: F405 - a name of each package

try:
    from cupola import abi as _abi  # noqa: F401 - checks that the library is of the same build
except ImportError as _error:
    _library.refuse_other_python(_error)
    raise

# The module of each public name, by its __all__; tools/public_names.py writes this table.
_HOMES = {
    "Array": "array",
    "Case": "tuning.cases",
    "Chunk": "pipelines",
    "CudaArray": "texture",
    "Device": "device",
    "Event": "event",
    "Family": "tuning.family",
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
    "TensorMap": "tensor_map",
    "Texture": "texture",
    "allclose": "arrays.comparisons",
    "alloc": "memory",
    "append": "arrays.joins",
    "arange": "creation",
    "argpartition": "arrays.order_statistics",
    "argsort": "arrays.sorts",
    "argwhere": "arrays.selection",
    "array_equal": "arrays.comparisons",
    "array_split": "arrays.splits",
    "asarray": "creation",
    "atleast_1d": "arrays.shapes",
    "atleast_2d": "arrays.shapes",
    "atleast_3d": "arrays.shapes",
    "bincount": "arrays.histograms",
    "broadcast_arrays": "arrays.shapes",
    "broadcast_to": "arrays.shapes",
    "clip": "arrays.arithmetic",
    "column_stack": "arrays.joins",
    "compile": "compiler",
    "compress": "arrays.selection",
    "concatenate": "arrays.joins",
    "convolve": "kernels",
    "count_nonzero": "arrays.selection",
    "cross": "arrays.matrices",
    "cumprod": "arrays.scans",
    "cumsum": "arrays.scans",
    "cumulative_prod": "arrays.scans",
    "cumulative_sum": "arrays.scans",
    "delete": "arrays.arrangement",
    "devices": "device",
    "diag": "arrays.matrices",
    "diagonal": "arrays.matrices",
    "diff": "arrays.arithmetic",
    "digitize": "arrays.searching",
    "dot": "arrays.products",
    "dsplit": "arrays.splits",
    "dstack": "arrays.joins",
    "elementwise": "makers",
    "empty": "creation",
    "empty_like": "creation",
    "empty_pinned": "creation",
    "expand_dims": "arrays.shapes",
    "extract": "arrays.selection",
    "family": "tuning.declared",
    "flatnonzero": "arrays.selection",
    "flip": "arrays.arrangement",
    "fliplr": "arrays.arrangement",
    "flipud": "arrays.arrangement",
    "from_dlpack": "dlpack",
    "full": "creation",
    "full_like": "creation",
    "get_include": "paths",
    "hello": "kernels",
    "histogram": "arrays.histograms",
    "hsplit": "arrays.splits",
    "hstack": "arrays.joins",
    "inner": "arrays.products",
    "insert": "arrays.arrangement",
    "interp": "arrays.interpolation",
    "intersect1d": "arrays.sets",
    "isclose": "arrays.comparisons",
    "isin": "arrays.sets",
    "judge": "judging",
    "lexsort": "arrays.sorts",
    "link": "core.linking",
    "load": "core.loader",
    "managed": "creation",
    "mandelbrot": "kernels",
    "matmul": "arrays.products",
    "median": "arrays.quantiles",
    "memory_info": "device",
    "moveaxis": "arrays.shapes",
    "nanargmax": "arrays.nan_reductions",
    "nanargmin": "arrays.nan_reductions",
    "nanmax": "arrays.nan_reductions",
    "nanmean": "arrays.nan_reductions",
    "nanmin": "arrays.nan_reductions",
    "nanprod": "arrays.nan_reductions",
    "nansum": "arrays.nan_reductions",
    "nonzero": "arrays.selection",
    "ones": "creation",
    "ones_like": "creation",
    "op": "ops",
    "outer": "arrays.products",
    "pad": "arrays.padding",
    "partition": "arrays.order_statistics",
    "percentile": "arrays.quantiles",
    "pipeline": "chunks",
    "profile": "tools.timeline",
    "put": "arrays.indexing",
    "put_along_axis": "arrays.indexing",
    "quantile": "arrays.quantiles",
    "ravel_multi_index": "arrays.flat_indices",
    "record": "recording",
    "reduction": "makers",
    "register_host": "memory",
    "repeat": "arrays.arrangement",
    "roll": "arrays.arrangement",
    "rollaxis": "arrays.shapes",
    "rot90": "arrays.arrangement",
    "round": "arrays.comparisons",
    "saxpy": "kernels",
    "scan": "makers",
    "searchsorted": "arrays.searching",
    "set_trace": "tools.debug",
    "setdiff1d": "arrays.sets",
    "setxor1d": "arrays.sets",
    "shipped_kernels": "kernels",
    "sort": "arrays.sorts",
    "split": "arrays.splits",
    "squeeze": "arrays.shapes",
    "stack": "arrays.joins",
    "std": "arrays.statistics",
    "swapaxes": "arrays.shapes",
    "take": "arrays.indexing",
    "take_along_axis": "arrays.indexing",
    "tensordot": "arrays.products",
    "tile": "arrays.arrangement",
    "to_device": "creation",
    "top_k": "arrays.order_statistics",
    "trace": "arrays.matrices",
    "tril": "arrays.matrices",
    "triu": "arrays.matrices",
    "tune": "tuning.tune",
    "union1d": "arrays.sets",
    "unique": "arrays.sets",
    "unravel_index": "arrays.flat_indices",
    "var": "arrays.statistics",
    "vdot": "arrays.products",
    "vsplit": "arrays.splits",
    "vstack": "arrays.joins",
    "where": "arrays.selection",
    "zeros": "creation",
    "zeros_like": "creation",
}
# Names of higher modules that lower modules look up in cupola.core.registry: public names, and
# names that only cupola itself uses.
_LOOKED_UP = ("Event", "Pool", "PreparedLaunch", "pipeline", "shipped_kernels")
_registry.homes.update(
    {name: _HOMES[name] for name in _LOOKED_UP},
    Capture="capture",
    TextureReferences="texture_reference",
    Variables="variable",
    array="creation",
    instantiate="graph_exec",
    run_on_cluster="chunks.cluster",
    take_array="creation",
    take_from_package="core.pickled_images",
    tune_at_first_use="tuning.tune",
    version_of="core.pickled_images",
)
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
    *_exceptions.__all__,
    "__version__",
    *_HOMES,
    *_SUBMODULES,
]


def __getattr__(name: str) -> object:
    if home := _HOMES.get(name):
        value = getattr(_registry.load(home, name), name)
        globals()[name] = value
        return value
    if name in _SUBMODULES:
        return _registry.load(name)
    from cupola.core.numpy_names import missing

    raise missing("cupola", name)


def __dir__() -> list[str]:
    """The public names, and those that Python itself gives a module."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


if _os.environ.get("CUPOLA_RECORD"):
    from cupola.recording import environment as _environment

    _environment.start(_os.environ["CUPOLA_RECORD"])
