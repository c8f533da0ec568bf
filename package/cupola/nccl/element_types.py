# cupola/nccl/element_types.py - NumPy's types and operations as NCCL's.
"""Which elements NCCL reduces, and by which operations."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cupola.exceptions import ArgumentTypeError, ArgumentValueError
from cupola.nccl.library import FLOAT8

OPERATIONS = {"sum": 0, "prod": 1, "max": 2, "min": 3, "avg": 4}  # ncclRedOp_t
# ncclDataType_t, by the names of NumPy's types and of ml_dtypes'.
_TYPES = {
    "int8": 0, "uint8": 1, "int32": 2, "uint32": 3, "int64": 4, "uint64": 5,
    "float16": 6, "float32": 7, "float64": 8, "bfloat16": 9,
    "float8_e4m3fn": 10, "float8_e5m2": 11,
}  # fmt: skip
_PAIRS = {"complex64": 7, "complex128": 8}


class Elements(NamedTuple):
    """How NCCL counts an array's elements."""

    code: int  # ncclDataType_t
    factor: int  # number of NCCL's elements for an element of NumPy


def moved(dtype: np.dtype[Any]) -> Elements:
    """Elements that are moved and not computed with: bytes."""
    return Elements(_TYPES["int8"], dtype.itemsize)


def operation(title: str, op: Any) -> int:
    """NCCL's number of an operation."""
    if not isinstance(op, str) or op not in OPERATIONS:
        raise ArgumentValueError(
            f"{title}: argument op: expected one of {', '.join(map(repr, OPERATIONS))}, got {op!r}"
        )
    return OPERATIONS[op]


def reduced(title: str, dtype: np.dtype[Any], op: str, version: tuple[int, int, int]) -> Elements:
    """Elements that are reduced by an operation.

    Raises
    ------
    ArgumentTypeError
        Where NCCL cannot reduce them; it names the type to convert to.
    """
    name = dtype.name
    where = f"{title}: argument x: "
    if name == "bool":
        if op in ("max", "min"):
            return Elements(_TYPES["uint8"], 1)
        raise ArgumentTypeError(
            f"{where}NCCL has no type for bool, and {op!r} of bytes is no bool: use op='max' for a "
            "logical or, op='min' for a logical and, or convert it with x.astype(np.int32)"
        )
    if name in _PAIRS:
        if op in ("sum", "avg"):
            return Elements(_PAIRS[name], 2)
        raise ArgumentTypeError(
            f"{where}NCCL has no complex numbers, and {op!r} is not that of their parts: expected "
            f"op='sum' or 'avg' for {name}"
        )
    if name not in _TYPES or not dtype.isnative:
        raise ArgumentTypeError(
            f"{where}expected elements that NCCL reduces ({', '.join([*_TYPES, *_PAIRS])}), got "
            f"{dtype}: convert it with x.astype(np.{_nearest(dtype)})"
        )
    if name.startswith("float8") and version < FLOAT8:
        raise ArgumentTypeError(
            f"{where}{name} needs NCCL {'.'.join(map(str, FLOAT8[:2]))} or newer, this one is "
            f"{'.'.join(map(str, version))}: convert it with x.astype(np.float16)"
        )
    return Elements(_TYPES[name], 1)


def _nearest(dtype: np.dtype[Any]) -> str:
    return {"i": "int32", "u": "uint32", "c": "complex128"}.get(dtype.kind, "float32")
