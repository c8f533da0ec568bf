# package/cupola/build/compilers/warp.py - compiles kernels of Warp for a target.
"""Warp's ahead-of-time compilation: ``@wp.kernel`` functions to PTX. It needs no GPU."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

from .. import ptx
from . import SourceError, assembler, descriptor, renamed

# Scalars of Warp, by their names in C.
_TYPES = {
    "bool": "bool",
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long long",
    "uint8": "unsigned char",
    "uint16": "unsigned short",
    "uint32": "unsigned int",
    "uint64": "unsigned long long",
    "float16": "half",
    "float32": "float",
    "float64": "double",
}


def version() -> str:
    """Warp's version."""
    import warp

    return str(warp.__version__)


def assemble(text: str, instances: list[dict[str, Any]], architecture: int) -> bytes:
    """Machine code, by the toolkit's ptxas: Warp's own makes one image for each module."""
    return assembler.assemble(text, architecture)


def compile_kernel(function: Any, instance: dict[str, Any], architecture: int) -> dict[str, Any]:
    """PTX of an instance, and its description."""
    import warp

    if not isinstance(function, warp.Kernel):
        raise SourceError(f"expected a function with @wp.kernel, got {type(function).__name__}")
    for key in ("signature", "constants"):
        if instance[key]:
            raise SourceError(
                f"{key}: Warp reads types and constants from the source; leave it out"
            )
    if function.is_generic:
        raise SourceError("its annotations are generic: write an overload with types")
    arguments = [_parameter(one.label, one.type) for one in function.adj.args]
    warp.config.quiet = True
    module = function.module
    module.options["enable_backward"] = False
    module.options["block_dim"] = instance.get("block_dim", 256)
    with tempfile.TemporaryDirectory(prefix="cupola-warp-") as folder:
        warp.compile_aot_module(module, arch=architecture, module_dir=folder, use_ptx=True)
        (made,) = Path(folder).glob("*.ptx")
        (about,) = Path(folder).glob("*.meta")
        text = made.read_bytes().rstrip(b"\0").decode()
        shared = json.loads(about.read_text())
    name = re.search(
        rf"\.entry\s+({re.escape(function.key)}_(?:[0-9a-f]+_)?cuda_kernel_forward)\b", text
    )
    if name is None:
        raise SourceError("its PTX has no kernel of this name")
    return {
        "name": instance["name"],
        "ptx": renamed(ptx.cut(text)[name[1]], name[1], instance["name"]),
        "parameters": [_bounds(function.adj.kernel_dim), *arguments],
        "block": [module.options["block_dim"], 1, 1],
        "shared": shared.get(f"{name[1]}_smem_bytes", 0),
    }


def _bounds(ndim: int) -> dict[str, Any]:
    """The first parameter of each kernel: the size of the launch."""
    from warp._src.types import launch_bounds_t

    layout = type(launch_bounds_t((0,) * ndim))
    values = [
        *_axes(layout, "shape", ndim),
        _field(layout, "size"),
        _field(layout, "coord_mult", "1"),
    ]
    return {
        **_struct("dim", f"wp::launch_bounds_t<{ndim}>", layout),
        "descriptor": descriptor.sizes("dim", ndim, values),
    }


def _array(name: str, element: str, ndim: int) -> dict[str, Any]:
    """An array, which Warp's kernels take with any strides."""
    from warp._src.types import array_t

    found = _struct(name, f"wp::array_t<{element}>", array_t)
    if element not in _TYPES:  # vectors and matrices, which a launch gives by the struct's fields
        return found
    values = [
        _field(array_t, "data"), *_axes(array_t, "shape", ndim),
        *_axes(array_t, "strides", ndim, "stride"), _field(array_t, "ndim"),
    ]  # fmt: skip
    return {**found, "descriptor": descriptor.array(name, element, [None] * ndim, values)}


def _field(layout: Any, field: str, value: str = "") -> descriptor.Value:
    """A value at the place of a field."""
    at = getattr(layout, field)
    return at.offset, at.size, value or field


def _axes(layout: Any, field: str, ndim: int, value: str = "") -> list[descriptor.Value]:
    """Values at the places of a field that has a number for each axis."""
    import ctypes

    given, at = dict(layout._fields_)[field], getattr(layout, field)
    width = ctypes.sizeof(given._type_)
    return [(at.offset + axis * width, width, f"{value or field}.{axis}") for axis in range(ndim)]


def _parameter(name: str, given: Any) -> dict[str, Any]:
    import warp

    if isinstance(given, warp.array):
        return _array(name, getattr(given.dtype, "__name__", str(given.dtype)), given.ndim)
    known = {bool: "bool", int: "int32", float: "float32"}
    word = known.get(given) or getattr(given, "__name__", str(given))
    if word not in _TYPES:
        raise SourceError(
            f"the parameter {name} is {word}: expected a number or an array; pass a vector or a "
            "struct as an array of one element"
        )
    return {"name": name, "type": _TYPES[word], "pointer": False}


def _struct(name: str, type_name: str, layout: Any) -> dict[str, Any]:
    """A struct, by the ctypes class with which Warp itself passes it."""
    import ctypes

    import numpy as np

    fields = getattr(layout, "_numpy_dtype_", None)
    dtype = np.dtype(fields if fields is not None else layout)
    return {
        "name": name,
        "type": "",
        "pointer": False,
        "struct": {"type": type_name, "size": ctypes.sizeof(layout), "dtype": _spec(dtype)},
    }


def _spec(dtype: Any) -> Any:
    """A NumPy dtype as manifests write it."""
    if dtype.subdtype is not None:
        return [_spec(dtype.subdtype[0]), list(dtype.subdtype[1])]
    if dtype.names is None:
        return dtype.str
    fields = [dtype.fields[name] for name in dtype.names]
    return {
        "names": list(dtype.names),
        "formats": [_spec(field[0]) for field in fields],
        "offsets": [field[1] for field in fields],
        "itemsize": dtype.itemsize,
    }
