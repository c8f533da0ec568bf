# cupola/core/struct_guess.py - guessed layouts of C structs that no manifest describes.
"""The remedy for a mapping or a tuple that is passed for a struct of unknown fields."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

_MOST_GUESSED = 8  # at most this many numbers are guessed; each has two possible sizes
_LEARN = (
    "the struct's fields are not known here: the manifest of a package has them, and so has a "
    "compilation with options=['-G']"
)


def remedy(value: Any, size: int) -> str:
    """How to pass a mapping or a tuple for a struct of so many bytes."""
    line = line_for(value, size)
    if line is None:
        return (
            f"{_LEARN}; no types of these values are known that fill its {size} bytes: pass a "
            "structured scalar with the types and the order of the struct's declaration"
        )
    return (
        f"{_LEARN}; or make a structured scalar of the types and the order in the struct's "
        f"declaration. This is a guess by its {size} bytes, so compare it with the declaration, "
        f"and pass {line}"
    )


def number_line(value: Any, size: int) -> str:
    """Python code that gives a type to a value, for a variable of `size` bytes."""
    try:
        array = np.asarray(value)
    except ValueError:  # ragged
        array = np.zeros((), object)
    name = {"b": "bool_", "i": "int", "u": "uint", "f": "float"}.get(array.dtype.kind, "")
    each = size // max(1, array.size)
    if name not in ("", "bool_"):
        name = f"{name}{8 * each}" if each in (1, 2, 4, 8)[name == "float" :] else ""
    if not name:
        return "numpy.array(value, dtype) with the dtype of its elements"
    made = f"numpy.array(value, numpy.{name})" if array.shape else f"numpy.{name}({value!r})"
    return f"{made} if that is its declared type, which is guessed by its {size} bytes"


def line_for(value: Any, size: int) -> str | None:
    """The line of Python that makes a structured scalar of a mapping or a tuple.

    Values of NumPy have their own types. Numbers of Python have the first sizes, of four and eight
    bytes, that hold them and fill the struct to its last byte: first all integers have one size,
    and all floats. None where no sizes do, or where a value is not made of numbers.
    """
    if not _is_struct(value) or not _is_numeric(value):
        return None
    numbers = _numbers(value)
    letters, large = [_letter(one) for one in numbers], [_is_large(one) for one in numbers]
    sizes: Iterator[tuple[str, ...]] = iter(
        tuple(float_size if letter == "f" else int_size for letter in letters)
        for int_size, float_size in (("4", "4"), ("4", "8"), ("8", "8"))
    )
    if len(letters) <= _MOST_GUESSED:
        sizes = itertools.chain(sizes, itertools.product("48", repeat=len(letters)))
    for each in sizes:
        if any(size == "4" and one for size, one in zip(each, large, strict=True)):
            continue
        fields = _fields(value, iter(each))
        dtype = np.dtype(fields, align=True)
        if dtype.itemsize == size and _end(dtype) == size:
            made = f"numpy.array({_elements(value, 'value')}, numpy.dtype({fields}, align=True))"
            return f"{made}[()]"
    return None


def _end(dtype: np.dtype[Any]) -> int:
    """The bytes up to the last number of a struct, without the padding after it."""
    if dtype.subdtype is not None:
        base = dtype.base
        return dtype.itemsize - base.itemsize + _end(base)
    if dtype.fields is None:
        return dtype.itemsize
    return max((at + _end(kind) for kind, at, *_ in dtype.fields.values()), default=0)


def _is_numeric(value: Any) -> bool:
    """Whether a value has numbers alone, in lists of equal lengths and structs of equal fields."""
    if _is_struct(value):
        return all(_is_numeric(one) for _, one in _items(value))
    if _is_structs(value):
        first = [name for name, _ in _items(value[0])]
        same = all([name for name, _ in _items(one)] == first for one in value)
        return same and all(map(_is_numeric, value))
    try:
        return bool(np.asarray(value).dtype.kind in "biufc")
    except (TypeError, ValueError):
        return False


def _items(value: Any) -> list[tuple[str, Any]]:
    """The fields of a mapping or a tuple, with their names."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return [(str(name), one) for name, one in value.items()]
    return [(f"f{place}", one) for place, one in enumerate(value)]


def _is_struct(value: Any) -> bool:
    return isinstance(value, (Mapping, tuple))


def _is_structs(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_struct, value))


def _is_sized(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic, bool, bytes))


def _letter(value: Any) -> str:
    """The kind of a number, or of an array of numbers, of Python."""
    return {"b": "?", "i": "i", "u": "u"}.get(np.asarray(value).dtype.kind, "f")


def _is_large(value: Any) -> bool:
    """Whether numbers of Python do not fit in four bytes."""
    array = np.asarray(value)
    if array.dtype.kind not in "iuf" or not array.size:
        return array.dtype.kind == "O"
    most = 2.0**31 if array.dtype.kind in "iu" else float(np.finfo(np.float32).max)
    return bool(np.any(np.isfinite(array) & (np.abs(array.astype(np.float64)) > most)))


def _numbers(value: Any) -> list[Any]:
    """The numbers and arrays of numbers of a value that have no size."""
    if _is_struct(value):
        return [number for _, one in _items(value) for number in _numbers(one)]
    if _is_structs(value):
        return _numbers(value[0])
    return [] if _is_sized(value) else [value]


def _fields(value: Any, sizes: Iterator[str]) -> list[tuple[Any, ...]]:
    """The fields of a struct, as `numpy.dtype` takes them."""
    found: list[tuple[Any, ...]] = []
    for name, one in _items(value):
        if _is_struct(one):
            found.append((name, _fields(one, sizes)))
        elif _is_structs(one):
            found.append((name, _fields(one[0], sizes), (len(one),)))
        else:
            array = np.asarray(one)
            text = array.dtype.str.lstrip("<=|")
            if not _is_sized(one):
                text = (_letter(one) + next(sizes)).replace("?4", "?").replace("?8", "?")
            found.append((name, text, array.shape) if array.shape else (name, text))
    return found


def _elements(value: Any, path: str) -> str:
    """Python that makes nested tuples of the value at a path: NumPy takes structs as tuples."""
    if _is_structs(value):
        inside = [_elements(one, f"{path}[{place}]") for place, one in enumerate(value)]
        return f"[{', '.join(inside)}]"
    if not _is_struct(value):
        return path
    inner = list(value.values()) if isinstance(value, Mapping) else list(value)
    if not any(_is_struct(one) or _is_structs(one) for one in inner):
        return f"tuple({path}.values())" if isinstance(value, Mapping) else path
    keys = list(value) if isinstance(value, Mapping) else range(len(value))
    parts = [_elements(value[key], f"{path}[{key!r}]") for key in keys]
    return f"({', '.join(parts)},)"
