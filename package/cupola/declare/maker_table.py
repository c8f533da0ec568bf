# cupola/declare/maker_table.py - a table [[tool.cupola.makers]], and the definition it gives.
"""Makers that a package declares; the standard library alone is imported."""

from __future__ import annotations

import difflib
import itertools
import keyword
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..exceptions import ArgumentError, ArgumentValueError
from . import elementwise_definition, reduction_definition, scan_definition
from .c_types import CXX
from .element_types import itemsize
from .kernel_definition import Definition

_COMMON = ("name", "kind", "parameters", "types", "preamble", "structs", "contiguous")
# For each kind of kernel: the function that reads its table, the required keys, the optional keys.
_KINDS: dict[str, tuple[Any, tuple[str, ...], tuple[str, ...]]] = {
    "elementwise": (elementwise_definition.define, ("body",), ("before", "after")),
    "reduction": (
        reduction_definition.define,
        ("map", "reduce", "neutral"),
        ("post", "accumulator"),
    ),
    "scan": (
        scan_definition.define,
        ("map", "scan", "neutral"),
        ("exclusive", "segment", "output", "accumulator"),
    ),
}


class TableError(Exception):
    """A key is invalid; `key` names it, or is empty."""

    def __init__(self, key: str, text: str) -> None:
        super().__init__(text)
        self.key = key


@dataclass(frozen=True)
class MakerTable:
    """A table that was read."""

    name: str  # the package and the function: "waves.axpy"
    kind: str
    definition: Definition
    types: tuple[dict[str, str], ...]  # combinations of types that have kernels, by type variable
    structs: dict[str, list[list[str]]]  # fields and element types


def read(table: Mapping[str, Any]) -> MakerTable:
    """Read a table.

    Raises
    ------
    TableError
        Where a key is unknown, missing or invalid.
    """
    kind = table.get("kind")
    if kind not in _KINDS:
        raise TableError(
            "kind" if "kind" in table else "",
            f"expected kind = {' or '.join(map(repr, _KINDS))}, got {kind!r}",
        )
    define, required, others = _KINDS[kind]
    known = (*_COMMON, *required, *others)
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            meant = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
            raise TableError("", f"unknown key {key!r}: {meant}")
    for key in ("name", "parameters", *required):
        if key not in table:
            raise TableError("", f"the key {key!r} is missing")
    name = table["name"]
    if not isinstance(name, str) or "." not in name or not name.rpartition(".")[2].isidentifier():
        raise TableError("name", f"{name!r}: write package.name, as in 'waves.axpy'")
    if keyword.iskeyword(name.rpartition(".")[2]):
        raise TableError("name", f"{name!r} ends in a keyword of Python: choose another name")
    for key in ("contiguous", "exclusive"):
        if not isinstance(table.get(key, False), bool):
            raise TableError(key, f"expected true or false, got {table[key]!r}")
    structs = _structs(table.get("structs", {}))
    sizes = {key: struct_size(fields) for key, fields in structs.items()}
    taken = ("preamble", "contiguous", *others)
    more = {key: table[key] for key in taken if key in table}
    code = [table[key] for key in required]
    title = name.rpartition(".")[2]
    try:
        definition: Definition = define(title, table["parameters"], *code, sizes, **more)
    except ArgumentError as error:
        raise TableError("", str(error).removeprefix(f"{title}: ")) from None
    return MakerTable(name, kind, definition, _types(definition, table.get("types")), structs)


def _types(definition: Definition, given: Any) -> tuple[dict[str, str], ...]:
    """The types of the variables for which there are kernels."""
    variables = definition.variables
    if not variables:
        if given is not None:
            raise TableError("types", "no parameter has a type variable")
        return ({},)
    listed = ", ".join(variables)
    if not isinstance(given, list) or not given:
        raise TableError(
            "types" if given is not None else "",
            f"expected types = [...] with the element types of {listed}, got {given!r}",
        )
    found = []
    for one in given:
        several = one if isinstance(one, list) else [one]
        wrong = [each for each in several if each not in CXX]
        if wrong:
            raise TableError("types", f"unknown type {wrong[0]!r}; known are {', '.join(CXX)}")
        if len(several) != len(variables):
            raise TableError("types", f"{one!r}: expected one type for each of {listed}")
        found.append(dict(zip(variables, several, strict=True)))
    for one, other in itertools.combinations(found, 2):
        if one == other:
            raise TableError("types", f"{', '.join(one.values())} is there twice")
    return tuple(found)


def _structs(given: Any) -> dict[str, list[list[str]]]:
    """The fields of the structs."""
    if not isinstance(given, Mapping):
        raise TableError("structs", "expected a table, as { Pair = [['value', 'float32']] }")
    found = {}
    for name, fields in given.items():
        valid = isinstance(fields, list) and fields
        for one in fields if valid else ():
            if not (isinstance(one, list) and len(one) == 2 and one[1] in CXX):
                valid = False
        if not valid:
            raise TableError(
                "structs",
                f"{name}: expected fields with their element types, as [['value', 'float32'], "
                f"['index', 'int32']], got {fields!r}",
            )
        found[str(name)] = [[str(field), kind] for field, kind in fields]
    return found


def struct_size(fields: list[list[str]]) -> int:
    """The size of a struct in C, in bytes; each field is aligned to its size."""
    end, align = 0, 1
    for _, kind in fields:
        size = itemsize(kind)
        end = -(-end // size) * size + size
        align = max(align, size)
    return -(-end // align) * align


def types_text(types: Mapping[str, str]) -> str:
    """``T = float32, U = int32``."""
    return ", ".join(f"{variable} = {one}" for variable, one in types.items())


def check_types(name: str, known: tuple[dict[str, str], ...], types: Mapping[str, str]) -> None:
    """Check that there are kernels for these types.

    Raises
    ------
    ArgumentValueError
        Where there are none; it names those that are there.
    """
    if dict(types) not in known:
        listed = "; ".join(map(types_text, known))
        raise ArgumentValueError(
            f"{name}: the package has no kernel for {types_text(types)}; it was built for {listed}"
        )
