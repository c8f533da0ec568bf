# cupola/arrays/operators.pyx - the base class of arrays with Python's operators.
# cython: language_level=3

from cupola._abi cimport CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID
from cupola.abi cimport require
from cupola.array cimport Array
from cupola.arrays.elementwise_call cimport binary, inplace, power, unary
from cupola.arrays.promotion cimport (
    ABSOLUTE, ADD, BITWISE_AND, BITWISE_OR, BITWISE_XOR, DIVIDE, EQUAL, FLOOR_DIVIDE, GREATER,
    GREATER_EQUAL, INVERT, LEFT_SHIFT, LESS, LESS_EQUAL, MULTIPLY, NEGATIVE, NOT_EQUAL, POSITIVE,
    POWER, REMAINDER, RIGHT_SHIFT, SUBTRACT,
)


cdef class Operators(Array):
    """Python's operators on the elements of arrays, by NumPy's rules.

    They are queued on the current stream, and their results are new arrays; see
    `cupola.Array.__array_ufunc__`.
    """

    def __add__(self, other):
        return binary(ADD, self, other)

    def __radd__(self, other):
        return binary(ADD, other, self)

    def __iadd__(self, other):
        return inplace(ADD, self, other)

    def __sub__(self, other):
        return binary(SUBTRACT, self, other)

    def __rsub__(self, other):
        return binary(SUBTRACT, other, self)

    def __isub__(self, other):
        return inplace(SUBTRACT, self, other)

    def __mul__(self, other):
        return binary(MULTIPLY, self, other)

    def __rmul__(self, other):
        return binary(MULTIPLY, other, self)

    def __imul__(self, other):
        return inplace(MULTIPLY, self, other)

    def __truediv__(self, other):
        return binary(DIVIDE, self, other)

    def __rtruediv__(self, other):
        return binary(DIVIDE, other, self)

    def __itruediv__(self, other):
        return inplace(DIVIDE, self, other)

    def __floordiv__(self, other):
        return binary(FLOOR_DIVIDE, self, other)

    def __rfloordiv__(self, other):
        return binary(FLOOR_DIVIDE, other, self)

    def __ifloordiv__(self, other):
        return inplace(FLOOR_DIVIDE, self, other)

    def __mod__(self, other):
        return binary(REMAINDER, self, other)

    def __rmod__(self, other):
        return binary(REMAINDER, other, self)

    def __imod__(self, other):
        return inplace(REMAINDER, self, other)

    def __and__(self, other):
        return binary(BITWISE_AND, self, other)

    def __rand__(self, other):
        return binary(BITWISE_AND, other, self)

    def __iand__(self, other):
        return inplace(BITWISE_AND, self, other)

    def __or__(self, other):
        return binary(BITWISE_OR, self, other)

    def __ror__(self, other):
        return binary(BITWISE_OR, other, self)

    def __ior__(self, other):
        return inplace(BITWISE_OR, self, other)

    def __xor__(self, other):
        return binary(BITWISE_XOR, self, other)

    def __rxor__(self, other):
        return binary(BITWISE_XOR, other, self)

    def __ixor__(self, other):
        return inplace(BITWISE_XOR, self, other)

    def __lshift__(self, other):
        return binary(LEFT_SHIFT, self, other)

    def __rlshift__(self, other):
        return binary(LEFT_SHIFT, other, self)

    def __ilshift__(self, other):
        return inplace(LEFT_SHIFT, self, other)

    def __rshift__(self, other):
        return binary(RIGHT_SHIFT, self, other)

    def __rrshift__(self, other):
        return binary(RIGHT_SHIFT, other, self)

    def __irshift__(self, other):
        return inplace(RIGHT_SHIFT, self, other)

    def __pow__(self, other, modulo):
        return NotImplemented if modulo is not None else power(self, other)

    def __rpow__(self, other, modulo):
        return NotImplemented if modulo is not None else binary(POWER, other, self)

    def __ipow__(self, other):
        return inplace(POWER, self, other)

    def __neg__(self):
        return unary(NEGATIVE, self)

    def __pos__(self):
        return unary(POSITIVE, self)

    def __abs__(self):
        return unary(ABSOLUTE, self)

    def __invert__(self):
        return unary(INVERT, self)

    def __eq__(self, other):
        return binary(EQUAL, self, other)

    def __ne__(self, other):
        return binary(NOT_EQUAL, self, other)

    def __lt__(self, other):
        return binary(LESS, self, other)

    def __le__(self, other):
        return binary(LESS_EQUAL, self, other)

    def __gt__(self, other):
        return binary(GREATER, self, other)

    def __ge__(self, other):
        return binary(GREATER_EQUAL, self, other)


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
