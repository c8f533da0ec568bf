# cupola/pycuda/_c_types.py - data types by their names in C, and arguments in C's spelling.
"""The registry of C types of ``pycuda.tools``."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from cupola.declare.c_types import element_of
from cupola.declare.element_types import C_TYPES, OF_ML_DTYPES

_NAMES = {
    **{name: c_types[-1] for name, c_types in C_TYPES.items() if name not in OF_ML_DTYPES},
    "float16": "half",
    "complex64": "pycuda::complex<float>",
    "complex128": "pycuda::complex<double>",
}
_TEXTURES = {
    "float32": "fp_tex_float", "float64": "fp_tex_double",
    "complex64": "fp_tex_cfloat", "complex128": "fp_tex_cdouble",
}  # fmt: skip

DTYPE_TO_NAME = {np.dtype(kind): name for kind, name in _NAMES.items()}
# Without the other spellings of C's types, which `element_of` knows.
NAME_TO_DTYPE = {
    name: np.dtype(kind) for each in (_NAMES, _TEXTURES) for kind, name in each.items()
}


def _dtype_of(name: str) -> np.dtype[Any] | None:
    """The dtype of a C name; None where the name is not known."""
    element = element_of(name)
    return NAME_TO_DTYPE.get(name) or (np.dtype(element) if element in _NAMES else None)


def get_or_register_dtype(c_names, dtype=None):
    """The dtype of a C name; with a dtype, the name becomes known for it.

    Raises
    ------
    RuntimeError
        Where the name is known for another dtype, or not known and no dtype is given.
    """
    names = [c_names] if isinstance(c_names, str) else list(c_names)
    if dtype is None:
        known = _dtype_of(names[0])
        if known is None:
            raise RuntimeError(f"unknown C type {names[0]!r}: register it with register_dtype()")
        return known
    dtype = np.dtype(dtype)
    for name in names:
        if (_dtype_of(name) or dtype) != dtype:
            raise RuntimeError(f"{name!r} is already registered for {_dtype_of(name)}")
        NAME_TO_DTYPE[name] = dtype
    DTYPE_TO_NAME.setdefault(dtype, names[0])
    return dtype


def register_dtype(dtype, c_names, alias_ok=False):
    """Make a struct's name in C known for a dtype."""
    names = [c_names] if isinstance(c_names, str) else list(c_names)
    if (
        not alias_ok
        and np.dtype(dtype) in DTYPE_TO_NAME
        and any(_dtype_of(name) != np.dtype(dtype) for name in names)
    ):
        raise RuntimeError(
            f"{np.dtype(dtype)} is already registered as {DTYPE_TO_NAME[np.dtype(dtype)]!r}; pass "
            "alias_ok=True for another name"
        )
    get_or_register_dtype(names, dtype)


def dtype_to_ctype(dtype, with_fp_tex_hack=False):
    """The name of a dtype in C.

    Raises
    ------
    ValueError
        Where it has none.
    """
    if dtype is None:
        raise ValueError("dtype may not be None")
    kind = np.dtype(dtype)
    if with_fp_tex_hack and kind.name in _TEXTURES:
        return _TEXTURES[kind.name]
    name = DTYPE_TO_NAME.get(kind)
    if name is None:
        raise ValueError(f"unable to map dtype {kind}: register it with register_dtype()")
    return name


class Argument:
    """An argument of a kernel in C's spelling."""

    def __init__(self, dtype, name):
        self.dtype, self.name = np.dtype(dtype), name

    def __repr__(self):
        return f"{type(self).__name__}({self.name!r}, {self.dtype})"


class VectorArg(Argument):
    """A pointer to elements."""

    struct_char = "P"

    def declarator(self):
        """The declaration in C."""
        return f"{dtype_to_ctype(self.dtype)} *{self.name}"


class ScalarArg(Argument):
    """A number or a struct."""

    def declarator(self):
        """The declaration in C."""
        return f"{dtype_to_ctype(self.dtype)} {self.name}"

    @property
    def struct_char(self):
        """The letter for `Function.prepare`, or the dtype."""
        return self.dtype.char if self.dtype.names is None else self.dtype


_ARGUMENT = re.compile(r"(?P<type>.+?)\s*(?P<star>\*?)\s*(?P<name>[A-Za-z_]\w*)(?:\[\d*\])?")


def parse_c_arg(c_arg):
    """A `VectorArg` or a `ScalarArg` for a declaration such as ``"const float *x"``.

    Raises
    ------
    ValueError
        Where the type is not known.
    """
    text = re.sub(r"\b(const|volatile|__restrict__|restrict)\b", " ", c_arg).strip()
    text = " ".join(text.split())
    read = _ARGUMENT.fullmatch(text)
    if read is None:
        raise ValueError(f"{c_arg!r} is no declaration of an argument: write as in 'float *x'")
    dtype = _dtype_of(read["type"].strip())
    if dtype is None:
        raise ValueError(
            f"unknown type {read['type']!r} in {c_arg!r}: register it with register_dtype()"
        )
    return (VectorArg if read["star"] else ScalarArg)(dtype, read["name"])


def parse_arguments(arguments: Any) -> list[Argument]:
    """The arguments of a list, or of a text with commas."""
    if isinstance(arguments, str):
        return [parse_c_arg(one) for one in _split(arguments)]
    return [parse_c_arg(one) if isinstance(one, str) else one for one in arguments]


def _split(text: str) -> list[str]:
    """The parts between commas outside of brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "<") - (letter == ">")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in parts if part.strip()]


def get_arg_type(c_arg):
    """The letter of an argument in C's spelling."""
    return parse_c_arg(c_arg).struct_char
