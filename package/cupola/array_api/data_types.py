# cupola/array_api/data_types.py - data types, and functions of them.
"""Data types of the standard are NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.array import Array
from cupola.exceptions import ArgumentTypeError, ArgumentValueError

bool = np.dtype(np.bool_)
int8, int16, int32, int64 = (np.dtype(f"int{bits}") for bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64))
float32, float64 = np.dtype(np.float32), np.dtype(np.float64)
complex64, complex128 = np.dtype(np.complex64), np.dtype(np.complex128)

SIGNED = {"int8": int8, "int16": int16, "int32": int32, "int64": int64}
UNSIGNED = {"uint8": uint8, "uint16": uint16, "uint32": uint32, "uint64": uint64}
REAL = {"float32": float32, "float64": float64}
COMPLEX = {"complex64": complex64, "complex128": complex128}
KINDS = {
    "bool": {"bool": bool},
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": {**SIGNED, **UNSIGNED},
    "real floating": REAL,
    "complex floating": COMPLEX,
    "numeric": {**SIGNED, **UNSIGNED, **REAL, **COMPLEX},
}
DTYPES = {**KINDS["bool"], **KINDS["numeric"]}


def astype(x: Array, dtype: Any, /, *, copy: Any = True, device: Any = None) -> Array:
    """The elements in another data type, converted on the current stream.

    Raises
    ------
    ArgumentTypeError
        For a conversion of complex numbers to other ones, which the standard refuses.
    """
    if x.dtype.kind == "c" and np.dtype(dtype).kind != "c":
        raise ArgumentTypeError(
            f"astype: complex numbers are not converted to {np.dtype(dtype)}; take x.real or x.imag"
        )
    result: Array = x.astype(dtype, copy=copy)
    return result if device is None else result.to_device(device)


def can_cast(from_: Any, to: Any, /) -> Any:
    """Whether the promotion rules convert a data type, or an array's, to another."""
    return np.can_cast(_dtype_of(from_), to)


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The data type of a result of arrays, data types and Python scalars."""
    if not arrays_and_dtypes:
        raise ArgumentTypeError("result_type: expected at least one array or data type")
    return np.result_type(*map(_dtype_of, arrays_and_dtypes))


def _dtype_of(value: Any) -> Any:
    return value.dtype if isinstance(value, Array) else value


class finfo:  # noqa: N801 - the standard's name
    """Limits of a floating-point data type, or of an array's."""

    def __init__(self, type: Any, /) -> None:
        about = np.finfo(_dtype_of(type))
        self.bits = int(about.bits)
        self.eps, self.max, self.min = float(about.eps), float(about.max), float(about.min)
        self.smallest_normal = float(about.smallest_normal)
        self.dtype = np.dtype(about.dtype)


class iinfo:  # noqa: N801 - the standard's name
    """Limits of an integer data type, or of an array's."""

    def __init__(self, type: Any, /) -> None:
        about = np.iinfo(_dtype_of(type))
        self.bits, self.max, self.min = int(about.bits), int(about.max), int(about.min)
        self.dtype = np.dtype(about.dtype)


def isdtype(dtype: Any, kind: Any) -> Any:
    """Whether a data type is another one, or of a kind such as ``"real floating"``.

    Parameters
    ----------
    dtype : data type
    kind : data type, str, or tuple of these
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ArgumentValueError(f"isdtype: kind is one of {sorted(KINDS)}, got {kind!r}")
        return np.dtype(dtype) in KINDS[kind].values()
    return np.dtype(dtype) == np.dtype(kind)
