# cupola/element.pyx - maps C type names to NumPy's, and converts values to elements.
# cython: language_level=3

import numpy as np

from cupola._abi cimport CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID
from cupola.abi cimport require

from cupola.exceptions import ArgumentTypeError

cdef set QUALIFIERS = {"const", "volatile", "__restrict__", "__restrict", "restrict"}
cdef set INTEGER_WORDS = {"signed", "unsigned", "short", "int", "long", "char"}
cdef dict BY_NAME = {
    "float": (b"f", 4),
    "double": (b"f", 8),
    "__half": (b"f", 2),
    "half": (b"f", 2),
    "bool": (b"x", 1),
    "int8_t": (b"x", 1),
    "uint8_t": (b"x", 1),
    "int16_t": (b"i", 2),
    "uint16_t": (b"u", 2),
    "int32_t": (b"i", 4),
    "uint32_t": (b"u", 4),
    "int64_t": (b"i", 8),
    "uint64_t": (b"u", 8),
    "size_t": (b"u", 8),
    "uint": (b"u", 4),
    "float _Complex": (b"c", 8),
    "double _Complex": (b"c", 16),
}


cdef Element element_of(str type):
    cdef Element result
    result.kind = 0
    result.size = 0
    words = [word for word in type.split() if word not in QUALIFIERS]
    name = " ".join(words)
    if name in BY_NAME:
        letter, result.size = BY_NAME[name]
        result.kind = letter[0]
    elif words and set(words) <= INTEGER_WORDS:
        if "char" in words:  # any bytes: the sign of char is undefined
            result.kind, result.size = c"x", 1
        else:
            result.kind = c"u" if "unsigned" in words else c"i"
            result.size = 2 if "short" in words else 8 if "long" in words else 4
    return result


# Python numbers have no width: they take the array's, in these kinds.
cdef dict WEAK = {bool: "biufc", int: "biufc", float: "fc", complex: "c"}


cdef object converted(object value, object dtype):
    try:
        return np.asarray(value, dtype=dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentTypeError(
            f"a {type(value).__name__} can't be made an array of {dtype}: {error}") from error


cdef object elements_of(object value, object dtype):
    if type(value) in WEAK and dtype.kind in WEAK[type(value)]:
        return converted(value, dtype)  # which checks the range
    if isinstance(value, (np.ndarray, np.generic, bool, int, float, complex)):
        found = np.asarray(value)
        if found.dtype != dtype and not np.can_cast(found.dtype, dtype, "same_kind"):
            raise ArgumentTypeError(
                f"elements of {found.dtype} are not converted to {dtype}: use astype() if that "
                "is meant")
        return found.astype(dtype, copy=False)
    return converted(value, dtype)


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
