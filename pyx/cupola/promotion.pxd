# cupola/promotion.pxd - in which type an operation is done, and what it gives; internal.

from cupola.array cimport Array

# What stands beside the codes of elements: Python's numbers, which have no width of their own.
cdef enum Weak:
    WEAK_INT = 15
    WEAK_FLOAT = 16
    WEAK_COMPLEX = 17
    KINDS_OF_OPERAND = 18

cdef struct Plan:
    int operation  # as elementwise.h numbers them
    int element  # in which it is done
    int result  # what it gives
    bint flat  # arrays of that type give it, so the kernels for what lies in order do it
    bint truth  # of a number it takes alone whether that is true
    bint function  # its kernel takes that type alone, and gives its own: the rest is cast
    bint known

# The code of a dtype that arrays compute with, 0 of others.
cdef int element_of(object dtype)
cdef int element_code(Array array) except -1  # raises for the others
cdef object dtype_of(int element)
cdef Py_ssize_t size_of(int element) noexcept
cdef char letter_of(int element) noexcept  # of its kind, NumPy's

# What NumPy's ufunc is here: its number, -1 where there is none.
cdef int number_of(object ufunc) except -2
cdef str name_of(int number)

# Of one operand `second` is 0.
cdef const Plan* plan_of(int number, int first, int second) except NULL

# One made for dtype= alone, to be freed.
cdef Plan* plan_with(int number, int first, int second, object dtype) except NULL
cdef void free_plan(Plan* plan) noexcept
