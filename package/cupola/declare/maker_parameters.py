# cupola/declare/maker_parameters.py - reads parameter lists such as "float a, const T* x, T* out".
"""Parameters of made kernels; the standard library alone is imported."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from dataclasses import dataclass

from ..exceptions import ArgumentTypeError, ArgumentValueError
from .c_types import KNOWN, WORDS, element_of, spelled

_NAME = re.compile(r"[A-Za-z_]\w*")
_VARIABLE = re.compile(r"[A-Z]\w*")
_DECLARATION = re.compile(r"(?P<type>[^*&]+?)\s*(?P<star>\*?)\s*(?P<name>\b[A-Za-z_]\w*)")
_QUALIFIERS = {"__restrict__", "__restrict", "restrict", "volatile"}


@dataclass(frozen=True)
class Parameter:
    """A parameter of a made kernel."""

    name: str
    type: str  # the type as C++ writes it, without const and *
    array: bool
    const: bool
    raw: bool  # an array that is not broadcast, and of any length
    element: str  # an element type, "" for a type variable and for a struct
    variable: str  # a type variable, or ""

    @property
    def result(self) -> bool:
        """Whether a call without it allocates it."""
        return self.array and not self.const and not self.raw

    @property
    def text(self) -> str:
        """As the caller could have written it."""
        star = "*" if self.array else ""
        raw, const = "raw " if self.raw else "", "const " if self.array and self.const else ""
        return f"{raw}{const}{self.element or self.type}{star} {self.name}"


def read(
    title: str, text: str, structs: Collection[str] = (), reserved: Collection[str] = ()
) -> tuple[Parameter, ...]:
    """The parameters in a list.

    Parameters
    ----------
    title : str
        The maker's name, for messages.
    text : str
        Declarations as in C, separated by commas.
    structs : collection of str
        Names of types that the preamble defines.
    reserved : collection of str
        Names that the kernel's code uses.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        Where a declaration is invalid; it names the declaration.
    """
    if not isinstance(text, str):
        raise ArgumentTypeError(
            f"{title}: the parameters are a text such as 'float a, const T* x, T* out', got "
            f"{type(text).__name__}"
        )
    parts = [part.strip() for part in _split(text)]
    if parts and not parts[-1]:
        parts.pop()
    found = [_read(title, part, structs) for part in parts]
    names = [one.name for one in found]
    for name in (*structs, *names):
        # Names such as __global__ belong to compilers. A struct may have a name of CUDA's, such as
        # __half2.
        internal = name.startswith("__") and name in names
        if name in WORDS or name.startswith("cupola") or internal:
            kind = "struct" if name in structs else "parameter"
            raise ArgumentValueError(
                f"{title}: a {kind} has the name {name!r}, which is a word of C++ or of cupola's "
                "source: use another name"
            )
    for name in names:
        if names.count(name) > 1:
            raise ArgumentValueError(f"{title}: two parameters have the name {name!r}")
        if name in reserved:
            taken = ", ".join(sorted(reserved))
            raise ArgumentValueError(
                f"{title}: a parameter has the name {name!r}, which the kernel's code uses "
                f"({taken}): use another name"
            )
    if not any(one.array for one in found):
        raise ArgumentValueError(f"{title}: no parameter is an array, as 'T* out' is: {text!r}")
    return tuple(found)


def _split(text: str) -> list[str]:
    """The parts between commas outside of brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "<([") - (letter in ">)]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _read(title: str, text: str, structs: Collection[str]) -> Parameter:
    where = f"{title}: parameter {text!r}"
    raw = text.startswith("raw ")
    words = re.sub(r"\*", " * ", text.removeprefix("raw ")).split()
    const = "const" in words[: words.index("*") if "*" in words else None]
    rest = " ".join(word for word in words if word not in _QUALIFIERS and word != "const")
    found = _DECLARATION.fullmatch(rest)
    if found is None:
        raise ArgumentValueError(
            f"{where}: expected a type and a name, as in 'float a' for a number or 'const T* x' "
            "for an array"
        )
    kind, array, name = " ".join(found["type"].split()), bool(found["star"]), found["name"]
    if raw and not array:
        raise ArgumentValueError(f"{where}: only an array can be raw: write {text} with a *")
    element, variable = element_of(kind) or "", ""
    if kind in structs:
        element = ""
    elif not element and _VARIABLE.fullmatch(kind):
        variable = kind
    elif not element:
        near = difflib.get_close_matches(kind, KNOWN, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(KNOWN)}"
        raise ArgumentValueError(
            f"{where}: unknown type {kind!r}: {hint} (a type variable begins with a capital "
            "letter; structs= takes the dtypes of structs)"
        )
    return Parameter(name, spelled(kind), array, const or not array, raw, element, variable)


def variables_of(parameters: Collection[Parameter]) -> tuple[str, ...]:
    """The type variables, in the order in which the parameters name them."""
    return tuple(dict.fromkeys(one.variable for one in parameters if one.variable))
