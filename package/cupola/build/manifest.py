# package/cupola/build/manifest.py - what is known about an image's kernels, as JSON beside it.
"""The manifest of a device image.

``format`` 1::

    {"format": 1, "package": "cupola 0.1.0", "toolkit": "13.0.88", "ptx_version": "9.0",
     "architectures": {"cubin": [75, 90], "ptx": [75]},
     "kernels": [{"name": ..., "demangled": ...,
                  "parameters": [{"name": "x", "kind": "pointer", "type": "const float*",
                                  "size": 8, "offset": 0, "const": true,
                                  "element": {"kind": "float", "type": "float", "size": 4}}],
                  "resources": {"sm_75": {"registers": 10, "shared": 0, "local": 0,
                                          "constant": 0}}}]}

``kind`` is pointer, integer (with ``signed``), float or struct (with ``fields``, each with
``name``, ``offset`` and ``count``).  Of a parameter that its kernel never uses the debug
information may say nothing: then ``kind`` is unknown and ``name`` null.  All sizes and offsets
are bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from .architectures import PTX
from .cubin import Kernel, Parameter, read_cubin, read_fatbin
from .error import BuildError
from .signature import Description, demangle, read_signatures

FORMAT = 1


def write_manifest(
    path: Path, *, image: Path, reference: Path, debug: Path, toolkit: str, package: str
) -> None:
    """Describe ``image`` in the file ``path``.

    ``reference`` and ``debug`` are the same sources as cubins of one architecture, the latter
    with debug information; what the two say must agree.
    """
    text = describe(
        image.read_bytes(), reference.read_bytes(), debug.read_bytes(), toolkit, package
    )
    path.write_text(json.dumps(text, indent=1) + "\n")


def describe(
    image: bytes, reference: bytes, debug: bytes, toolkit: str, package: str
) -> dict[str, Any]:
    """The manifest, as what JSON holds."""
    entries = read_fatbin(image)
    kernels = read_cubin(reference)
    resources: dict[str, dict[str, Any]] = {kernel.name: {} for kernel in kernels}
    cubins = {PTX: kernels}
    cubins |= {e.architecture: read_cubin(e.payload) for e in entries if e.kind == "cubin"}
    for architecture, found in sorted(cubins.items()):
        if {kernel.name for kernel in found} != set(resources):
            raise BuildError(f"the code for sm_{architecture} holds other kernels than sm_{PTX}'s")
        for kernel in found:
            resources[kernel.name][f"sm_{architecture}"] = _resources(kernel)
    signatures = read_signatures(debug)
    ptx = [entry for entry in entries if entry.kind == "ptx"]
    return {
        "format": FORMAT,
        "package": package,
        "toolkit": toolkit,
        "ptx_version": _ptx_version([entry.payload for entry in ptx]),
        "architectures": {
            "cubin": sorted(entry.architecture for entry in entries if entry.kind == "cubin"),
            "ptx": sorted(entry.architecture for entry in ptx),
        },
        "kernels": [
            {
                "name": kernel.name,
                "demangled": demangle(kernel.name),
                "parameters": merge(kernel, signatures.get(kernel.name, [])),
                "resources": resources[kernel.name],
            }
            for kernel in kernels
        ],
    }


def _resources(kernel: Kernel) -> dict[str, int]:
    return {
        "registers": kernel.registers,
        "shared": kernel.shared,
        "local": kernel.local,
        "constant": kernel.constant,
    }


def _ptx_version(texts: Sequence[bytes]) -> str | None:
    for text in texts:
        found = re.search(rb"^\s*\.version\s+(\d+\.\d+)", text, re.MULTILINE)
        if found is None:
            raise BuildError("the image's PTX has no .version")
        return found[1].decode()
    return None


def merge(kernel: Kernel, described: Sequence[Description]) -> list[dict[str, Any]]:
    """Layout and types together; where they contradict each other the build stops."""
    layout = kernel.parameters
    placed = _match(layout, described)
    if placed is None:
        raise BuildError(
            f"kernel {demangle(kernel.name)}: its code has parameters of "
            f"{[parameter.size for parameter in layout]} bytes, its debug information tells of "
            f"{[(d['type'], d['size']) for d in described]}"
        )
    merged = []
    for parameter, description in zip(layout, placed, strict=True):
        known = description or {"name": None, "kind": "unknown", "type": None}
        merged.append({**known, "size": parameter.size, "offset": parameter.offset})
    return merged


def _match(
    layout: Sequence[Parameter], described: Sequence[Description]
) -> list[Description | None] | None:
    """Which description belongs to which parameter, in order and of the same size.

    Where descriptions are missing, and more than one way fits, a parameter on which the ways
    differ stays without.
    """
    if len(layout) - len(described) > 8:  # none that is used is ever missing: not worth a search
        return [None] * len(layout)
    agreed: list[Description | None] | None = None
    for chosen in combinations(range(len(layout)), len(described)):
        pairs = list(zip(chosen, described, strict=True))
        if any(layout[i].size != description["size"] for i, description in pairs):
            continue
        way: list[Description | None] = [None] * len(layout)
        for i, description in pairs:
            way[i] = description
        if agreed is None:
            agreed = way
        else:
            both = zip(agreed, way, strict=True)
            agreed = [mine if mine is other else None for mine, other in both]
    return agreed
