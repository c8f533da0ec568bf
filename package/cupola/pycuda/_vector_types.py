# cupola/pycuda/_vector_types.py - CUDA's vector types as data types of NumPy.
"""The class `vec`, with data types and functions that make their values."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.pycuda._c_types import get_or_register_dtype


class vec:
    """CUDA's vector types: ``vec.float3``, ``vec.make_float3(x, y, z)``."""


def _maker(dtype: np.dtype[Any]) -> Any:
    def make(*values):
        if len(values) > len(dtype.names):
            raise TypeError(f"the vector has {len(dtype.names)} elements, got {len(values)}")
        made = np.zeros((), dtype)
        made[()] = (*values, *([0] * (len(dtype.names) - len(values))))
        return made[()]

    return staticmethod(make)


def _add_types() -> None:
    kinds = {
        "char": np.int8, "uchar": np.uint8, "short": np.int16, "ushort": np.uint16,
        "int": np.int32, "uint": np.uint32, "long": np.int64, "ulong": np.uint64,
        "longlong": np.int64, "ulonglong": np.uint64, "float": np.float32, "double": np.float64,
    }  # fmt: skip
    for base, scalar in kinds.items():
        for count in (1, 2, 3, 4):
            name = f"{base}{count}"
            dtype = np.dtype([(letter, scalar) for letter in "xyzw"[:count]])
            get_or_register_dtype(name, dtype)
            setattr(vec, name, dtype)
            setattr(vec, f"make_{name}", _maker(dtype))


_add_types()
