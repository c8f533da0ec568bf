# cupola/operators.pyx - the base class of arrays with Python's operators.
# cython: language_level=3

from cupola._abi cimport CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID
from cupola.abi cimport require


cdef class Operators:
    """Python's operators on the elements of arrays, by NumPy's rules.

    They are queued on the current stream, and their results are new arrays; see
    `cupola.Array.__array_ufunc__`.
    """

    def __init__(self):
        raise TypeError("arrays are made by cupola.empty, cupola.to_device and similar functions")

    def __add__(self, other):
        return DO.binary(OPERATORS.add, self, other)

    def __radd__(self, other):
        return DO.binary(OPERATORS.add, other, self)

    def __iadd__(self, other):
        return DO.inplace(OPERATORS.add, self, other)

    def __sub__(self, other):
        return DO.binary(OPERATORS.subtract, self, other)

    def __rsub__(self, other):
        return DO.binary(OPERATORS.subtract, other, self)

    def __isub__(self, other):
        return DO.inplace(OPERATORS.subtract, self, other)

    def __mul__(self, other):
        return DO.binary(OPERATORS.multiply, self, other)

    def __rmul__(self, other):
        return DO.binary(OPERATORS.multiply, other, self)

    def __imul__(self, other):
        return DO.inplace(OPERATORS.multiply, self, other)

    def __truediv__(self, other):
        return DO.binary(OPERATORS.divide, self, other)

    def __rtruediv__(self, other):
        return DO.binary(OPERATORS.divide, other, self)

    def __itruediv__(self, other):
        return DO.inplace(OPERATORS.divide, self, other)

    def __floordiv__(self, other):
        return DO.binary(OPERATORS.floor_divide, self, other)

    def __rfloordiv__(self, other):
        return DO.binary(OPERATORS.floor_divide, other, self)

    def __ifloordiv__(self, other):
        return DO.inplace(OPERATORS.floor_divide, self, other)

    def __mod__(self, other):
        return DO.binary(OPERATORS.remainder, self, other)

    def __rmod__(self, other):
        return DO.binary(OPERATORS.remainder, other, self)

    def __imod__(self, other):
        return DO.inplace(OPERATORS.remainder, self, other)

    def __and__(self, other):
        return DO.binary(OPERATORS.bitwise_and, self, other)

    def __rand__(self, other):
        return DO.binary(OPERATORS.bitwise_and, other, self)

    def __iand__(self, other):
        return DO.inplace(OPERATORS.bitwise_and, self, other)

    def __or__(self, other):
        return DO.binary(OPERATORS.bitwise_or, self, other)

    def __ror__(self, other):
        return DO.binary(OPERATORS.bitwise_or, other, self)

    def __ior__(self, other):
        return DO.inplace(OPERATORS.bitwise_or, self, other)

    def __xor__(self, other):
        return DO.binary(OPERATORS.bitwise_xor, self, other)

    def __rxor__(self, other):
        return DO.binary(OPERATORS.bitwise_xor, other, self)

    def __ixor__(self, other):
        return DO.inplace(OPERATORS.bitwise_xor, self, other)

    def __lshift__(self, other):
        return DO.binary(OPERATORS.left_shift, self, other)

    def __rlshift__(self, other):
        return DO.binary(OPERATORS.left_shift, other, self)

    def __ilshift__(self, other):
        return DO.inplace(OPERATORS.left_shift, self, other)

    def __rshift__(self, other):
        return DO.binary(OPERATORS.right_shift, self, other)

    def __rrshift__(self, other):
        return DO.binary(OPERATORS.right_shift, other, self)

    def __irshift__(self, other):
        return DO.inplace(OPERATORS.right_shift, self, other)

    def __pow__(self, other, modulo):
        return NotImplemented if modulo is not None else DO.power(self, other)

    def __rpow__(self, other, modulo):
        return NotImplemented if modulo is not None else DO.binary(OPERATORS.power, other, self)

    def __ipow__(self, other):
        return DO.inplace(OPERATORS.power, self, other)

    def __neg__(self):
        return DO.unary(OPERATORS.negative, self)

    def __pos__(self):
        return DO.unary(OPERATORS.positive, self)

    def __abs__(self):
        return DO.unary(OPERATORS.absolute, self)

    def __invert__(self):
        return DO.unary(OPERATORS.invert, self)

    def __eq__(self, other):
        return DO.binary(OPERATORS.equal, self, other)

    def __ne__(self, other):
        return DO.binary(OPERATORS.not_equal, self, other)

    def __lt__(self, other):
        return DO.binary(OPERATORS.less, self, other)

    def __le__(self, other):
        return DO.binary(OPERATORS.less_equal, self, other)

    def __gt__(self, other):
        return DO.binary(OPERATORS.greater, self, other)

    def __ge__(self, other):
        return DO.binary(OPERATORS.greater_equal, self, other)


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
