# cupola/_number.pxd - packs numbers in the common cases; internal: it needs cupola.h.

from libc.math cimport isfinite
from libc.stdint cimport uint32_t
from libc.string cimport memcpy

from cupola._abi cimport CUPOLA_FLOAT, CUPOLA_INTEGER, CUPOLA_POINTER, cupola_parameter

cdef inline bint store_float(
    const cupola_parameter* parameter, char* buffer, double number
) noexcept:
    """Whether it packed the number; otherwise cupola_argument_float does, or refuses it."""
    cdef float narrow
    if not parameter.kind & CUPOLA_FLOAT:
        return False
    if parameter.size == sizeof(narrow):
        narrow = <float>number
        if not isfinite(narrow):
            return False
        memcpy(buffer + parameter.offset, &narrow, sizeof(narrow))
        return True
    if parameter.size == sizeof(number):
        memcpy(buffer + parameter.offset, &number, sizeof(number))
        return True
    return False

cdef inline bint store_integer(
    const cupola_parameter* parameter, char* buffer, long long integer
) noexcept:
    """Whether it packed the integer; otherwise cupola_argument_int does, or refuses it."""
    cdef uint32_t half
    if integer < 0 or not parameter.kind & (CUPOLA_INTEGER | CUPOLA_POINTER):
        return False
    if parameter.size == sizeof(integer):
        memcpy(buffer + parameter.offset, &integer, sizeof(integer))
        return True
    if parameter.size == sizeof(half) and integer <= 0x7fffffff:
        half = <uint32_t>integer
        memcpy(buffer + parameter.offset, &half, sizeof(half))
        return True
    return False
