# cupola/elementwise.pxd - operations on the elements of arrays; internal.

from cupola.array cimport Array
from cupola.stream cimport Stream

# left OP right, NotImplemented where one of them is nothing that arrays compute with. `number` is
# of promotion.pxd.
cdef object binary(int number, object left, object right)
cdef object unary(int number, object x)
# __array_ufunc__
cdef object call_ufunc(object ufunc, str method, tuple inputs, dict options)
cdef Array cast(Array source, object dtype, Stream queue)
# Whether each element lies at a multiple of its size; the array, or a copy of which that is true.
cdef bint is_aligned(Array x) except -1
cdef Array aligned(Array x, Stream queue)
