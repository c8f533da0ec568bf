# cupola/elementwise.pxd - elementwise operations of arrays; internal.

from cupola.array cimport Array
from cupola.stream cimport Stream

# left OP right; NotImplemented where an operand's type is not supported. `number` is from
# promotion.pxd.
cdef object binary(int number, object left, object right)
cdef object unary(int number, object x)
# __array_ufunc__
cdef object call_ufunc(object ufunc, str method, tuple inputs, dict options)
cdef Array cast(Array source, object dtype, Stream queue)
# Whether each element is aligned to its size; the array, or an aligned copy.
cdef bint is_aligned(Array x) except -1
cdef Array aligned(Array x, Stream queue)
