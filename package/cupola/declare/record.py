# package/cupola/declare/record.py - an argument of an operation that is a struct.
"""Structs that kernels take by value, with addresses of tensors and computed integers in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

MOST_BYTES = 4096
MOST_FIELDS = 256


class Field(NamedTuple):
    """A tensor's address or an integer in a struct."""

    offset: int  # bytes
    size: int  # bytes
    text: str  # the name of a tensor, or an expression


class Record(NamedTuple):
    """A struct; the bytes between its fields are 0."""

    size: int  # bytes
    fields: tuple[Field, ...]


def read(given: Mapping[str, Any]) -> Record:
    """The struct of a table ``{size = 16, fields = [[0, 8, "x"], [8, 4, "n"]]}``.

    Raises
    ------
    KeyError, TypeError, ValueError
        It is invalid.
    """
    if set(given) != {"size", "fields"}:
        raise ValueError("a struct has the keys size and fields")
    size = _number(given["size"], 1, MOST_BYTES)
    fields = []
    for offset, width, text in given["fields"]:
        if width not in (1, 2, 4, 8) or not isinstance(text, str):
            raise ValueError("a field has an offset, 1, 2, 4 or 8 bytes, and a text")
        fields.append(Field(_number(offset, 0, size - width), width, text.strip()))
    if len(fields) > MOST_FIELDS:
        raise ValueError(f"a struct has at most {MOST_FIELDS} fields")
    return Record(size, tuple(fields))


def _number(given: Any, least: int, most: int) -> int:
    if type(given) is not int or not least <= given <= most:
        raise ValueError(f"expected {least} to {most}, got {given!r}")
    return given
