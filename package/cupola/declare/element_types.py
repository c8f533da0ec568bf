# cupola/declare/element_types.py - names of element types, with DLPack's codes.
"""Element types by name; the standard library alone is imported."""

from __future__ import annotations

# DLPack's type code and the number of bits.
ELEMENT_TYPES = {
    "bool": (6, 8),
    "int8": (0, 8),
    "int16": (0, 16),
    "int32": (0, 32),
    "int64": (0, 64),
    "uint8": (1, 8),
    "uint16": (1, 16),
    "uint32": (1, 32),
    "uint64": (1, 64),
    "float16": (2, 16),
    "bfloat16": (4, 16),
    "float32": (2, 32),
    "float64": (2, 64),
    "complex64": (5, 64),
    "complex128": (5, 128),
    "float8_e3m4": (7, 8),
    "float8_e4m3": (8, 8),
    "float8_e4m3b11fnuz": (9, 8),
    "float8_e4m3fn": (10, 8),
    "float8_e4m3fnuz": (11, 8),
    "float8_e5m2": (12, 8),
    "float8_e5m2fnuz": (13, 8),
    "float8_e8m0fnu": (14, 8),
}
NAMES = {code: name for name, code in ELEMENT_TYPES.items()}
# Types that NumPy has only with ml_dtypes.
OF_ML_DTYPES = {name for name in ELEMENT_TYPES if name.startswith(("bfloat16", "float8"))}


def itemsize(name: str) -> int:
    """Bytes of an element."""
    return ELEMENT_TYPES[name][1] // 8
