# cupola/declare/tensor_type.py - the element type and the shape of a declared tensor.
"""``T[ny, nx]``: an element type or a type variable, and lengths."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .element_types import ELEMENT_TYPES
from .expression import NAME

_BROADCAST = re.compile(r"broadcast\(\s*([A-Za-z_][A-Za-z_0-9]*)\s*\)")


class TensorTypeError(ValueError):
    """The text of a tensor's type is invalid."""


@dataclass(frozen=True)
class Length:
    """One length of a shape.

    Parameters
    ----------
    text : str
    name : str
        Of the size, where the length is a name or ``broadcast(name)``; else "".
    broadcast : bool
        Whether it may be 1 instead.
    """

    text: str
    name: str = ""
    broadcast: bool = False


@dataclass(frozen=True)
class TensorType:
    """The type of a tensor.

    Parameters
    ----------
    text : str
        As it was written, without the ``?``.
    element : str
        An element type's name, or a type variable.
    pack : str
        The name of the leading axes, or "".
    lengths : tuple of Length
    optional : bool
    """

    text: str
    element: str
    pack: str
    lengths: tuple[Length, ...]
    optional: bool

    @property
    def variable(self) -> str:
        """The type variable, or ""."""
        return "" if self.element in ELEMENT_TYPES else self.element


def parse(text: str) -> TensorType:
    """Parse ``T[ny, nx]``, with ``?`` at its end for an optional input.

    Raises
    ------
    TensorTypeError
    """
    whole = text.strip()
    optional = whole.endswith("?")
    whole = whole.removesuffix("?").rstrip()
    element, bracket, rest = whole.partition("[")
    element = element.strip()
    if not bracket or not rest.endswith("]"):
        raise TensorTypeError("expected an element type and a shape, such as T[ny, nx]")
    if element not in ELEMENT_TYPES and not re.fullmatch(r"[A-Z][A-Za-z_0-9]*", element):
        raise TensorTypeError(
            f"{element!r} is neither an element type ({', '.join(ELEMENT_TYPES)}) nor a type "
            "variable, which begins with a capital letter"
        )
    listed = _listed(rest[:-1])
    pack = ""
    if listed and listed[0].startswith("*"):
        pack = listed.pop(0)[1:]
        if not NAME.fullmatch(pack):
            raise TensorTypeError(f"*{pack} is not a name")
    return TensorType(whole, element, pack, tuple(_length(one) for one in listed), optional)


def _length(text: str) -> Length:
    if text.startswith("*"):
        raise TensorTypeError(f"{text} must come first")
    if not text:
        raise TensorTypeError("a length is empty")
    if NAME.fullmatch(text):
        return Length(text, text)
    if found := _BROADCAST.fullmatch(text):
        return Length(text, found[1], True)
    if text.startswith("broadcast"):
        raise TensorTypeError("broadcast takes the name of a size")
    return Length(text)


def _listed(text: str) -> list[str]:
    """Split at the commas outside of parentheses."""
    if not text.strip():
        return []
    found, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth <= 0:
            found.append("")
        else:
            found[-1] += letter
    return [one.strip() for one in found]
