# cupola/element.pyx - maps C type names to NumPy's, and converts values to elements.
# cython: language_level=3

import re

import numpy as np

from cupola._abi cimport CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, text
from cupola.abi cimport require

from cupola.exceptions import ArgumentTypeError, ArgumentValueError

include "element_types.pxi"

cdef set QUALIFIERS = {"const", "volatile", "__restrict__", "__restrict", "restrict"}
cdef set INTEGER_WORDS = {"signed", "unsigned", "short", "int", "long", "char"}
# NumPy's letter and the bytes of a type. Any letter fits bfloat16, which NumPy lacks.
cdef dict BY_NAME = {
    **{name: (b"x" if bits == 8 else LETTERS[code].encode(), bits // 8)
       for name, (code, bits) in C_TYPES.items() if code in LETTERS},
    "uint": (b"u", 4),
    "float _Complex": (b"c", 8),
    "double _Complex": (b"c", 16),
}


# Further types that the compiler aligns to more bytes than their fields need.
cdef object COMPLEX = re.compile(r"(?:.*::)?complex<(float|double)>")
cdef dict BY_ALIGNMENT = {"__nv_bfloat16": 2, "__int128": 16}


cdef tuple vector_of(str name):
    """The element type of a vector's parts, their count, and the vector's alignment; or None."""
    number = COMPLEX.fullmatch(name)
    if number is not None:
        name = f"{number[1]}2"  # the same parts and alignment
    if name not in VECTORS:
        return None
    part, count = VECTORS[name]
    if name.endswith("a"):  # double4_32a names its alignment
        return part, count, int(name[-3:-1])
    size = ELEMENT_TYPES[part][1] // 8
    return part, count, min(16, size * (1 if count == 3 else count))


cdef Element element_of(str type):
    cdef Element result
    result.kind = 0
    result.size = result.vector = 0
    result.further_bits = 0
    words = [word for word in type.split() if word not in QUALIFIERS]
    name = " ".join(words)
    vector = vector_of(name)
    if vector is not None:
        part, count, alignment = vector
        code, bits = ELEMENT_TYPES[part]
        result.low_bits = alignment - 1
        if code in LETTERS:  # NumPy lacks bfloat16
            result.kind = c"x" if bits == 8 else LETTERS[code].encode()[0]
            result.size, result.vector = bits // 8, count * bits // 8
            result.further_bits = result.low_bits & ~<uint64_t>(result.size - 1)
        return result
    if name in BY_NAME:
        letter, result.size = BY_NAME[name]
        result.kind = letter[0]
    elif words and set(words) <= INTEGER_WORDS:
        if "char" in words:  # any bytes: the sign of char is undefined
            result.kind, result.size = c"x", 1
        else:
            result.kind = c"u" if "unsigned" in words else c"i"
            result.size = 2 if "short" in words else 8 if "long" in words else 4
    alignment = 8 if name.endswith("*") else BY_ALIGNMENT.get(name.removeprefix("unsigned "), 1)
    result.low_bits = (result.size or alignment) - 1
    return result


cdef str wanted_text(const Element* element, const char* type, object dtype):
    cdef Py_ssize_t pair = 2 * element.size
    if dtype.kind == "c" and element.kind == c"f" and element.vector and element.vector % pair == 0:
        if pair > 4:  # NumPy has no complex numbers of two float16
            return f"complex{8 * pair}"
    if element.kind == c"x":
        return "bool" if "bool" in text(type).split() else "uint8"
    return np.dtype(f"{chr(element.kind)}{element.size}").name if element.kind else ""


cdef uint64_t low_bits_of(object dtype):
    kind = dtype.kind
    if kind == "V" and dtype.names is not None:
        low_bits = 0
        for inner, *_ in dtype.fields.values():
            low_bits |= low_bits_of(inner)
        for inner, offset, *_ in dtype.fields.values():
            if offset & low_bits_of(inner) or dtype.itemsize & low_bits:
                return 0  # a packed struct, whose fields a kernel reads by their bytes
        return low_bits
    if dtype.subdtype is not None:
        return low_bits_of(dtype.subdtype[0])
    return dtype.alignment - 1 if kind in "VSU" else dtype.itemsize - 1


cpdef bint is_native(object dtype) except -1:
    """Whether all elements have the machine's byte order.

    NumPy's ``isnative`` does not see elements of arrays in structs.
    """
    if not dtype.isnative:
        return False
    if dtype.kind != "V":
        return True
    if dtype.subdtype is not None:
        return is_native(dtype.subdtype[0])
    for name in dtype.names or ():
        if not is_native(dtype[name]):
            return False
    return True


cdef bint is_direct(object dtype, uint64_t address, Py_ssize_t nbytes) except -1:
    if not is_native(dtype):
        return False
    # Most memory is aligned to more than any element.
    return address & 0xff == 0 or nbytes == 0 or address & low_bits_of(dtype) == 0


cdef str indirect_text(object dtype, str copy):
    if not is_native(dtype):
        return (
            f"of {dtype}, which is not in the machine's byte order; pass "
            "cupola.to_device(x.get()), which converts it")
    return f"of {dtype} at an address that is no multiple of {low_bits_of(dtype) + 1}; pass {copy}"


def natural_alignment(object element not None):
    """The alignment in bytes that a kernel's accesses need: of a dtype, or of a C++ type's name."""
    if isinstance(element, str):
        return element_of(element).low_bits + 1
    return low_bits_of(element) + 1


cpdef object native_dtype(object dtype):
    """The dtype in the machine's byte order, which new arrays have."""
    return dtype if is_native(dtype) else dtype.newbyteorder("=")


cdef str dtype_source(object dtype):
    return f"numpy.{dtype!r}" if dtype.kind == "V" else repr(str(dtype))


cdef object native_array(object host):
    return host.astype(native_dtype(host.dtype), copy=False)


# Python numbers have no width: they take the array's, in these kinds.
cdef dict WEAK = {bool: "biufc", int: "biufc", float: "fc", complex: "c"}


cdef object converted(object value, object dtype):
    try:
        return np.asarray(value, dtype=dtype)
    except OverflowError as error:
        raise ArgumentValueError(
            f"a value of {type(value).__name__} is out of the range of {dtype}: {error}") from error
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(
            f"expected values for an array of {dtype}, got {type(value).__name__}: {error}"
        ) from error


cdef int require_same_kind(object source, object target) except -1:
    if source != target and not np.can_cast(source, target, "same_kind"):
        raise ArgumentTypeError(
            f"elements of {source} are not converted to {target} by the rule 'same_kind': use "
            "astype() if that is meant")
    return 0


cdef object elements_of(object value, object dtype):
    if type(value) in WEAK and dtype.kind in WEAK[type(value)]:
        return converted(value, dtype)  # the conversion checks the range
    if isinstance(value, (np.ndarray, np.generic, bool, int, float, complex)):
        found = np.asarray(value)
        require_same_kind(found.dtype, dtype)
        return found.astype(dtype, copy=False)
    return converted(value, dtype)


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
