# cupola/judging/task.py - what a candidate has to compute: the declaration, sizes and tolerances.
"""The task of a reference's file, with the launch that a candidate chooses."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cupola.declare.declaration_error import DeclarationError
from cupola.declare.expression import Expression, ExpressionError, parse
from cupola.declare.operation import Declaration, Tensor, read
from cupola.declare.record import Record
from cupola.exceptions import ArgumentTypeError
from cupola.judging.elements import limits, saturates
from cupola.ops import element_dtypes

CHOICES = ("block", "grid", "shared", "cluster", "workspace", "sizes", "kernels")
_CHOICE = re.compile(r"^[ \t]*//[ \t]*cupola:[ \t]*(\w+)[ \t]*=[ \t]*(.+?)[ \t]*$", re.MULTILINE)
_KEY = re.compile(r'("(?:[^"\\]|\\.)*")|([A-Za-z_][\w-]*)\s*=')
_MOST_CHOICE = 4000
# rtol where the task gives none, by the type of an output; other types have to be equal.
# A float8 may differ by a unit in the last place.
RTOL = {"float16": 1e-2, "bfloat16": 2e-2, "float32": 1e-5, "float64": 1e-9, "complex64": 1e-5,
        "complex128": 1e-9}  # fmt: skip


class TaskError(Exception):
    """The task or the candidate's launch is invalid.

    Parameters
    ----------
    code : str
        ``task`` or ``declaration``.
    text : str
    line : int
        The candidate's line.
    """

    def __init__(self, code: str, text: str, line: int = 0) -> None:
        super().__init__(text)
        self.code, self.text, self.line = code, text, line


@dataclass(frozen=True)
class Task:
    """A checked task."""

    table: dict[str, Any]  # of the operation, as the task's file has it
    declaration: Declaration  # with the candidate's choices
    bounds: dict[str, tuple[int, int]]  # of sizes, both ends included
    ranges: dict[str, tuple[Expression, Expression]]  # of values, half open
    rtol: float | None
    atol: float | None
    aliases: dict[str, str]
    launches: list[dict[str, Any]]
    options: list[str]
    has_inputs: bool
    has_reference: bool = True
    chosen: dict[str, Any] = field(default_factory=dict)  # by the candidate
    # Per kernel, the places of parameters that its compiler added; they are zero.
    hidden: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def tolerance(self, dtype: np.dtype[Any]) -> tuple[float, float | None]:
        """rtol and atol for an output; atol is None where it depends on the output."""
        if self.rtol is not None:
            return self.rtol, self.atol
        if saturates(dtype):
            return float(limits(dtype).eps), self.atol
        return RTOL.get(dtype.name, 0.0), self.atol

    def other(self, launch: Mapping[str, Any]) -> Task:
        """The task with another launch."""
        table = {**self.table, **self.chosen, **launch}
        return Task(**{**self.__dict__, "declaration": declaration_of(table, "task")})


def dtype_of(declaration: Declaration, tensor: Tensor, types: tuple[str, ...]) -> np.dtype[Any]:
    """The NumPy type of a tensor's elements."""
    return element_dtypes.dtype_of(declaration.element_of(tensor, types))


def task_of(told: Mapping[str, Any], source: str) -> Task:
    """The task of what a reference's file says, with the choices of a candidate's source.

    Raises
    ------
    TaskError
    """
    table = told.get("operation")
    if not isinstance(table, dict):
        raise TaskError("task", "operation: expected a dict with the keys of an operation")
    if not told.get("has_reference"):
        raise TaskError("task", "there is no function reference")
    declaration_of(table, "task")
    chosen = _choices(source)
    declaration = declaration_of({**table, **chosen}, "declaration" if chosen else "task")
    for one in declaration.tensors:
        for types in declaration.kernels:
            try:
                dtype_of(declaration, one, types)
            except ArgumentTypeError as error:
                raise TaskError("task", f"{one.name}: {error}") from None
    for argument in declaration.arguments:
        if isinstance(argument, tuple) and not isinstance(argument, Record):
            raise TaskError("task", "arguments: lists can't be judged")
    return made(told, declaration, table=table, chosen=chosen)


def made(told: Mapping[str, Any], declaration: Declaration, **more: Any) -> Task:
    """The task of a declaration, with the bounds and tolerances of a reference's file.

    Parameters
    ----------
    told : mapping
        The content of the file; empty without a file.
    declaration : Declaration
    **more
        Further fields of the task.

    Raises
    ------
    TaskError
    """
    names = {one.name for one in declaration.tensors} | {one.name for one in declaration.scalars}
    return Task(
        declaration=declaration, bounds=_bounds(told), ranges=_ranges(told, names),
        rtol=_number(told, "rtol"), atol=_number(told, "atol"),
        aliases=_aliases(told, declaration), launches=_launches(told), options=_options(told),
        has_inputs=bool(told.get("has_inputs")), has_reference=bool(told.get("has_reference")),
        **more,
    )  # fmt: skip


def declaration_of(table: Mapping[str, Any], code: str) -> Declaration:
    """The declaration of a table.

    Raises
    ------
    TaskError
        The table is invalid; the error has the code.
    """
    try:
        return read(table, str(table.get("name") or "task"))
    except (DeclarationError, TypeError, ValueError, AttributeError) as error:
        raise TaskError(code, f"the operation: {error}") from None


def _choices(source: str) -> dict[str, Any]:
    """The values of the comments ``// cupola: key = value``."""
    found: dict[str, Any] = {}
    for one in _CHOICE.finditer(source):
        line = source.count("\n", 0, one.start()) + 1
        key, text = one[1], one[2]
        if key not in CHOICES:
            raise TaskError(
                "declaration", f"a candidate can't choose {key!r}: expected {', '.join(CHOICES)}",
                line,
            )  # fmt: skip
        if key in found:
            raise TaskError("declaration", f"{key} is chosen twice", line)
        try:
            if len(text) > _MOST_CHOICE:
                raise ValueError("it is too long")
            found[key] = json.loads(_KEY.sub(lambda m: m[1] or f'"{m[2]}":', text))
        except (ValueError, RecursionError) as error:
            raise TaskError(
                "declaration", f"{key} = {text[:80]}: expected a value as in [128], \"name\" or "
                f"{{ n = \"2 * m\" }} ({error})", line,
            ) from None  # fmt: skip
    return found


def _bounds(told: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    found = {}
    for name, pair in _table(told, "sizes").items():
        if not (
            isinstance(pair, list) and len(pair) == 2 and all(type(one) is int for one in pair)
            and 0 <= pair[0] <= pair[1] < 2**62
        ):  # fmt: skip
            raise TaskError("task", f"sizes.{name}: expected the least and the most, got {pair!r}")
        found[name] = (pair[0], pair[1])
    return found


def _ranges(told: Mapping[str, Any], names: set[str]) -> dict[str, tuple[Expression, Expression]]:
    found = {}
    for name, pair in _table(told, "ranges").items():
        if name not in names:
            raise TaskError("task", f"ranges.{name}: there is no input or scalar of this name")
        if not isinstance(pair, list) or len(pair) != 2:
            raise TaskError("task", f"ranges.{name}: expected two values, got {pair!r}")
        found[name] = (_expression(name, pair[0]), _expression(name, pair[1]))
    return found


def _expression(name: str, text: Any) -> Expression:
    if type(text) in (int, float):
        return Expression(str(text), (text,))
    try:
        return parse(str(text))
    except ExpressionError as error:
        raise TaskError("task", f"ranges.{name}: {text!r}: {error}") from None


def _aliases(told: Mapping[str, Any], declaration: Declaration) -> dict[str, str]:
    found = {}
    for name, other in _table(told, "aliases").items():
        one, source = declaration.tensor(name), declaration.tensor(str(other))
        if one is None or source is None or one.role != "output" or source.role != "input":
            raise TaskError("task", f"aliases.{name}: expected an output, and an input's name")
        found[name] = str(other)
    return found


def _launches(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    given = told.get("launches", [])
    allowed = {"block", "grid", "shared", "cluster", "workspace", "sizes"}
    if not isinstance(given, list) or not all(
        isinstance(one, dict) and set(one) <= allowed for one in given
    ):
        raise TaskError("task", f"launches: expected dicts with keys of {', '.join(allowed)}")
    return given


def _options(told: Mapping[str, Any]) -> list[str]:
    given = told.get("options", [])
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        raise TaskError("task", "options: expected texts, as in ['-std=c++17']")
    return given


def _table(told: Mapping[str, Any], key: str) -> dict[str, Any]:
    given = told.get(key, {})
    if not isinstance(given, dict):
        raise TaskError("task", f"{key}: expected a dict, got {given!r}")
    return given


def _number(told: Mapping[str, Any], key: str) -> float | None:
    given = told.get(key)
    if given is not None and (type(given) not in (int, float) or not given >= 0):
        raise TaskError("task", f"{key}: expected a number from 0 on, got {given!r}")
    return given
