# cupola/arrays/promotion.pxd - computed and result types of operations; internal.

from cupola.array_data cimport ArrayData

# Codes of Python numbers, which have no width. They follow the codes of element types.
cdef enum Weak:
    WEAK_INT = 15
    WEAK_FLOAT = 16
    WEAK_COMPLEX = 17
    KINDS_OF_OPERAND = 18

# The numbers of the ufuncs that code names. UFUNCS starts with these ufuncs; number_of() has the
# number of every ufunc.
cdef enum NamedUfunc:
    ADD, SUBTRACT, MULTIPLY, DIVIDE, FLOOR_DIVIDE, REMAINDER, POWER
    NEGATIVE, POSITIVE, ABSOLUTE, INVERT
    EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL
    BITWISE_AND, BITWISE_OR, BITWISE_XOR, LEFT_SHIFT, RIGHT_SHIFT
    SQUARE, SQRT, RECIPROCAL

cdef struct Plan:
    int operation  # the operation's number in elementwise.h
    int element  # the computed type
    int result  # the result type
    bint flat  # operands have the computed type, so flat kernels can be used
    bint truth  # a scalar is replaced by its truth value
    bint function  # the kernel has exactly these types: operands of other types are cast
    bint known

# The code of a dtype that arithmetic supports; 0 for another dtype.
cdef int element_of(object dtype)
cdef int element_code(ArrayData array) except -1  # raises an error for another dtype
cdef object dtype_of(int element)
cdef Py_ssize_t size_of(int element) noexcept
cdef char letter_of(int element) noexcept  # NumPy's letter of its kind

# The number of a NumPy ufunc; -1 where the ufunc has no kernel.
cdef int number_of(object ufunc) except -2
cdef str name_of(int number)

# For unary operations `second` is 0.
cdef const Plan* plan_of(int number, int first, int second) except NULL

# A plan for one value of dtype=; the caller frees the plan.
cdef Plan* plan_with(int number, int first, int second, object dtype) except NULL
cdef void free_plan(Plan* plan) noexcept
