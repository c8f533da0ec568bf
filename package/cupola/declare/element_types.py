# cupola/declare/element_types.py - the table of element types: DLPack's codes, and types of C.
"""Element types by name; the standard library alone is imported.

The build writes this table for C++ and for Cython. A new element type is a row here.
"""

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
# NumPy's letters of kinds, by DLPack's type code; other codes are those of ml_dtypes' types.
LETTERS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
# Types that NumPy has only with ml_dtypes.
OF_ML_DTYPES = {name for name in ELEMENT_TYPES if name.startswith(("bfloat16", "float8"))}
# The types of C and CUDA, as the names of kernels spell them. Generated code uses the first.
C_TYPES = {
    "bool": ("bool",),
    "int8": ("signed char",),
    "int16": ("short",),
    "int32": ("int",),
    "int64": ("long long", "long"),
    "uint8": ("unsigned char",),
    "uint16": ("unsigned short",),
    "uint32": ("unsigned int",),
    "uint64": ("unsigned long long", "unsigned long"),
    "float16": ("__half",),
    "bfloat16": ("__nv_bfloat16",),
    "float32": ("float",),
    "float64": ("double",),
}
# Other names of types in C.
ALIASES = {
    "char": "int8",
    "size_t": "uint64",
    "ptrdiff_t": "int64",
    "half": "float16",
    "nv_bfloat16": "bfloat16",
    **{f"{kind}{bits}_t": f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
}
# Types of C that also store elements of other types, and their bits.
STORAGE = {"char": 8, "unsigned char": 8, "unsigned short": 16}
_PARTS = {
    "char": "int8", "uchar": "uint8", "short": "int16", "ushort": "uint16", "int": "int32",
    "uint": "uint32", "long": "int64", "ulong": "uint64", "longlong": "int64",
    "ulonglong": "uint64", "float": "float32", "double": "float64",
}  # fmt: skip
# CUDA's vectors by their names in C: the element type of their parts, and how many parts there are.
VECTORS = {
    **{f"{name}{count}": (part, count) for name, part in _PARTS.items() for count in (1, 2, 3, 4)},
    **{f"{name}4_{align}a": (part, 4)
       for name, part in _PARTS.items() if part.endswith("64") for align in (16, 32)},
    "__half2": ("float16", 2),
    "half2": ("float16", 2),
    "__nv_bfloat162": ("bfloat16", 2),
    "nv_bfloat162": ("bfloat16", 2),
    "cuComplex": ("float32", 2),
    "cuFloatComplex": ("float32", 2),
    "cuDoubleComplex": ("float64", 2),
}  # fmt: skip
_COMPLEX = {"float32": "complex64", "float64": "complex128"}


def itemsize(name: str) -> int:
    """Bytes of an element."""
    return ELEMENT_TYPES[name][1] // 8


def held_by(c_type: str) -> tuple[str, ...]:
    """The element types that a kernel's pointer to a C type can hold; () for other types of C.

    A vector holds elements of its parts' type; two parts are a complex number.
    """
    if c_type in VECTORS:
        part, count = VECTORS[c_type]
        if itemsize(part) == 1:
            return held_by("char")
        pairs = (_COMPLEX[part],) if part in _COMPLEX and count % 2 == 0 else ()
        return (part, *pairs)
    bits = STORAGE.get(c_type)
    if bits is not None:
        return tuple(name for name, (_, width) in ELEMENT_TYPES.items() if width == bits)
    return tuple(name for name, spelled in C_TYPES.items() if c_type in spelled)


def for_cython() -> str:
    """The table as Cython modules include it."""
    names = {one: name for name, each in C_TYPES.items() for one in each}
    by_c_type = {one: ELEMENT_TYPES[name] for one, name in {**names, **ALIASES}.items()}
    return (
        "# Written by the build from cupola/declare/element_types.py.\n"
        f"cdef dict ELEMENT_TYPES = {ELEMENT_TYPES}\n"
        f"cdef dict C_TYPES = {by_c_type}\n"
        f"cdef dict LETTERS = {LETTERS}\n"
        f"cdef dict VECTORS = {VECTORS}\n"
    )


def for_cxx() -> str:
    """The table as C++ includes it: rows of two macros, which the source defines."""
    c_types = (one for each in C_TYPES.values() for one in each)
    spelled = dict.fromkeys([*c_types, *STORAGE, *VECTORS])
    lines = [
        f'CUPOLA_ELEMENT_TYPE("{name}", {code}, {bits})'
        for name, (code, bits) in ELEMENT_TYPES.items()
    ]
    lines += [
        f'CUPOLA_HOLDS("{c_type}", {code}, {bits})'
        for c_type in spelled
        for code, bits in (ELEMENT_TYPES[name] for name in held_by(c_type))
    ]
    return (
        "// Written by the build from cupola/declare/element_types.py.\n" + "\n".join(lines) + "\n"
    )
