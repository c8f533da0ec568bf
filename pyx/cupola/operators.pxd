# cupola/operators.pxd - the class that gives arrays their operators.

# NumPy's ufuncs by their numbers in promotion.pxd.
cdef struct Numbers:
    int add, subtract, multiply, divide, floor_divide, remainder, power
    int negative, positive, absolute, invert
    int equal, not_equal, less, less_equal, greater, greater_equal
    int bitwise_and, bitwise_or, bitwise_xor, left_shift, right_shift

# elementwise.pyx implements the operators and sets these two pointers: it imports the array class,
# so this base class can't import it.
cdef struct Doers:
    object (*binary)(int number, object left, object right)
    object (*inplace)(int number, object left, object right)
    object (*unary)(int number, object x)
    object (*power)(object x, object exponent)

cdef Numbers OPERATORS
cdef Doers DO

cdef class Operators:
    pass
