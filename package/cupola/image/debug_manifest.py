# cupola/image/debug_manifest.py - a manifest of the DWARF in a PTX text.
"""Types of kernels' parameters and of variables, from a compilation with ``-G``."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from cupola.image import dwarf, reader, source_map
from cupola.image.debug_values import Type, Types
from cupola.image.dwarf import Entry
from cupola.image.manifest import FORMAT, Manifest, dtype_of

_LIBRARY_FLOATS = {"__half": "half", "__nv_bfloat16": "bfloat16"}
_KINDS = {"i": "integer", "u": "integer", "b": "integer", "f": "float", "V": "struct"}
_REFUSED = (KeyError, TypeError, ValueError)


def read(ptx: str, place: str) -> Manifest | None:
    """The manifest; None where the text has no debug information.

    A kernel whose parameters differ from the text's is left out: DWARF lacks unused ones.
    """
    sources = source_map.read(ptx)
    units, entries = dwarf.read(sources)
    types = Types(entries)
    kernels: list[dict[str, Any]] = []
    variables: dict[str, Any] = {}
    places = {
        kernel.name: [(one.offset, one.size) for one in kernel.parameters]
        for kernel in reader.read_kernels(ptx.encode())
        if kernel.parameters is not None
    }
    for entry in (each for unit in units for each in unit.children):
        name = _linkage_name(entry)
        if entry.tag == dwarf.SUBPROGRAM and name in places:
            found = _parameters(entry, places[name], types)
            if found is not None:
                kernels.append({"name": name, "parameters": found})
        elif entry.tag == dwarf.VARIABLE:
            variables[name] = _spec(types.of(entry))
    if not kernels and not variables:
        return None
    whole = {"format": FORMAT, "variables": variables, "kernels": kernels}
    return Manifest(json.dumps(whole).encode(), place)


def _linkage_name(entry: Entry) -> str:
    names = (entry.attributes.get(each) for each in (*dwarf.LINKAGE, dwarf.NAME))
    return str(next(filter(None, names), ""))


def _parameters(
    kernel: Entry, places: list[tuple[int, int]], types: Types
) -> list[dict[str, Any]] | None:
    given = [each for each in kernel.children if each.tag == dwarf.PARAMETER]
    if len(given) != len(places):
        return None
    found = []
    for entry, (offset, size) in zip(given, places, strict=True):
        kind = types.of(entry)
        if kind.size != size:
            return None
        name = str(entry.attributes.get(dwarf.NAME, ""))
        found.append({"name": name, "offset": offset, "size": size, **_described(kind, types)})
    return found


def _described(kind: Type, types: Types) -> dict[str, Any]:
    """kind, type, dtype, and the further fields of the kind, as in a manifest."""
    name = kind.name.removeprefix("const ")
    if kind.pointer:
        target = types.of(kind.target)
        const = target.name.startswith("const ")
        known = target.size and not target.shape and not target.name.endswith("void")
        about = _described(target, types) if known else None
        return {"kind": "pointer", "type": name, "const": const, "element": about}
    if name in _LIBRARY_FLOATS and kind.size == 2:
        half = {"dtype": "<f2"} if name == "__half" else {"dtype": "<u2"}
        return {"kind": "float", "type": _LIBRARY_FLOATS[name], **half}
    told = {"kind": _KINDS.get(kind.dtype.kind, "unknown"), "type": name, "dtype": _spec(kind)}
    return {**told, "signed": kind.dtype.kind == "i"} if told["kind"] == "integer" else told


def _spec(kind: Type) -> Any:
    """The dtype of a type as `cupola.image.manifest.dtype_of` reads it, or its bytes alone."""
    spec = _of_dtype(kind.dtype)
    spec = [spec, list(kind.shape)] if kind.shape else spec
    try:
        dtype_of(spec)
    except _REFUSED:  # a union, or a struct with bit fields
        return f"|V{kind.size}"
    return spec


def _of_dtype(dtype: np.dtype[Any]) -> Any:
    if dtype.subdtype is not None:
        return [_of_dtype(dtype.subdtype[0]), list(dtype.subdtype[1])]
    if dtype.names is None:
        return f"|V{dtype.itemsize}" if dtype.kind == "V" else dtype.str
    fields = [(name, *(dtype.fields or {})[name][:2]) for name in dtype.names]
    return {
        "names": [name for name, _, _ in fields],
        "formats": [_of_dtype(one) for _, one, _ in fields],
        "offsets": [int(at) for _, _, at in fields],
        "itemsize": dtype.itemsize,
    }
