# cupola/arrays/call_form.pxd - the form of a call's arguments: all that a plan depends on.

from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from cupola._work cimport cupola_extent

cdef enum:
    MAX_OPERANDS = 16
    MAX_WORDS = 256
    ALIGNMENT = 256  # algorithms use an address modulo a divisor of this number

# The caller keeps the arguments alive.
cdef struct Form:
    int64_t words[MAX_WORDS]  # the key of a plan
    PyObject* operands[MAX_OPERANDS]  # the arrays, without repetitions
    cupola_extent extents[MAX_OPERANDS]  # the bytes from their first to their last elements
    Py_ssize_t used, count  # words and operands

# Describes the arguments; False where such calls are not planned. Objects whose addresses are in
# the key are added to `held`, unless that is None.
cdef bint describe(Form* form, tuple args, dict kwargs, list held) except -1
