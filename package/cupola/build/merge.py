# package/cupola/build/merge.py - merges the sources of information on kernels' parameters.
"""Merges parameters from machine code, the compiler's front end and debug information."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from ..image.cxx_names import demangle
from ..image.reader import Kernel, Parameter
from .error import BuildError
from .intermediate import Declaration
from .signature import Debug, Description

_INTEGERS = {  # size, and whether they are signed
    "char": (1, True),
    "signed char": (1, True),
    "short": (2, True),
    "int": (4, True),
    "long": (8, True),
    "long long": (8, True),
    "bool": (1, False),
    "unsigned char": (1, False),
    "unsigned short": (2, False),
    "unsigned int": (4, False),
    "unsigned long": (8, False),
    "unsigned long long": (8, False),
}
_FLOATS = {"half": 2, "bfloat16": 2, "float": 4, "double": 8}


def merge(
    kernel: Kernel,
    described: Sequence[Description],
    declared: Sequence[Declaration] | None = None,
    debug: Debug | None = None,
) -> list[dict[str, Any]]:
    """Merge layout, names and types; the build stops if they contradict each other.

    ``described`` are the parameters in debug information, ``debug`` has the types.
    """
    layout = kernel.parameters or []
    placed = (
        _match_by_size(layout, described)
        if declared is None
        else _match_by_name(declared, described)
    )
    if placed is None or len(placed) != len(layout):
        front = "" if declared is None else f", the compiler's front end {_told(declared)}"
        raise BuildError(
            f"kernel {demangle(kernel.name)}: its code has parameters of "
            f"{[parameter.size for parameter in layout]} bytes, its debug information tells of "
            f"{[(d['name'], d['type'], d['size']) for d in described]}{front}"
        )
    merged = []
    for i, (parameter, description) in enumerate(zip(layout, placed, strict=True)):
        front = None if declared is None else declared[i]
        known = description or _declared(front, parameter, debug)
        if front is not None:
            known = {**known, "name": front.name}
            if known["kind"] == "pointer":
                known["restrict"] = front.restrict
            _qualify(known, front)
            _agree(kernel, i, front, known, parameter)
        merged.append({**known, "size": parameter.size, "offset": parameter.offset})
    return merged


def _told(declared: Sequence[Declaration]) -> list[str]:
    return [f"{one.type}{'*' if one.pointer else ''} {one.name or ''}".strip() for one in declared]


def _match_by_size(
    layout: Sequence[Parameter], described: Sequence[Description]
) -> list[Description | None] | None:
    """Match descriptions to parameters, by order and size.

    If descriptions are missing and several matches are possible, a parameter on which they differ
    gets none.
    """
    if len(layout) - len(described) > 8:  # too many unused parameters to search
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


def _match_by_name(
    declared: Sequence[Declaration], described: Sequence[Description]
) -> list[Description | None] | None:
    """Match by the front end's names, which are complete; None if a name is not among them."""
    placed: list[Description | None] = [None] * len(declared)
    at = 0
    for description in described:
        while at < len(declared) and declared[at].name != description["name"]:
            at += 1
        if at == len(declared):
            return None
        placed[at] = description
        at += 1
    return placed


def _declared(
    front: Declaration | None, parameter: Parameter, debug: Debug | None
) -> dict[str, Any]:
    """A parameter that debug information omits, from the front end."""
    if front is None:
        return {"name": None, "kind": "unknown", "type": None}
    found = _value(front.type, debug)
    if front.pointer:
        const = "const " if front.const else ""
        element = None if found is None or found["kind"] == "unknown" else found
        spelled = demangle(front.type) or "void"
        return {"kind": "pointer", "type": f"{const}{spelled}*", "const": front.const,
                "element": element}  # fmt: skip
    if found is not None:
        return found
    return {"kind": "unknown", "type": demangle(front.type) or None}


def _qualify(known: dict[str, Any], front: Declaration) -> None:
    """Qualify a type's name: debug information has only its last part."""
    if not front.type.startswith("_Z"):
        return
    name = demangle(front.type)
    if not front.pointer:
        known["type"] = name
    elif known.get("element"):
        known["element"] = {**known["element"], "type": name}
        known["type"] = f"{'const ' if known['const'] else ''}{name}*"


def _value(name: str, debug: Debug | None) -> dict[str, Any] | None:
    if name in _INTEGERS:
        size, signed = _INTEGERS[name]
        return {"kind": "integer", "type": name, "size": size, "signed": signed}
    if name in _FLOATS:
        return {"kind": "float", "type": name, "size": _FLOATS[name]}
    if debug is None or not name:
        return None
    return debug.type(name) or debug.type(demangle(name))


def _agree(
    kernel: Kernel, i: int, front: Declaration, known: dict[str, Any], parameter: Parameter
) -> None:
    """Check that the sources agree on a parameter."""
    kind, size = known["kind"], known.get("size", parameter.size)
    expected = None
    if front.pointer:
        expected = "pointer"
    elif front.type in _INTEGERS:
        expected = "integer"
    elif front.type in _FLOATS:
        expected = "float"
    if size == parameter.size and (expected is None or kind == expected):
        return
    raise BuildError(
        f"kernel {demangle(kernel.name)}: parameter {i} has {parameter.size} bytes in its code, is "
        f"{_told([front])[0]} to the compiler's front end, and {known['type']} of {size} bytes in "
        "its debug information"
    )
