# cupola/arrays/elementwise_call.pxd - elementwise operations of arrays; internal.

from cupola.array_data cimport ArrayData
from cupola.stream cimport Stream

# left OP right; NotImplemented where an operand's type is not supported. `number` is from
# promotion.pxd.
cdef object binary(int number, object left, object right)
cdef object unary(int number, object x)
cdef object inplace(int number, object left, object right)
cdef object power(object base, object exponent)
# The same operations, with the result in `out`, or in a new array if `out` is None.
cdef object binary_to(int number, object left, object right, ArrayData out)
cdef object unary_to(int number, ArrayData x, ArrayData out)
# An operation with any operands; `right` is ABSENT for unary operations.
cdef object ABSENT
cdef object apply(int number, object left, object right, object out, object dtype)
# A new array in C order, with room for `size` elements of a type of promotion.pxd.
cdef ArrayData result_of(tuple shape, Py_ssize_t size, int element, int device, Stream queue)
cdef ArrayData cast(ArrayData source, object dtype, Stream queue)
# Whether each element is aligned to its size; the array, or an aligned copy.
cdef bint is_aligned(ArrayData x) except -1
cdef ArrayData aligned(ArrayData x, Stream queue)
