# cupola/native_operation.pxd - a declared operation of libcupola.so.

from cupola._operation cimport cupola_op

cdef enum:
    MAX_TENSORS = 64  # the limit of the library's declarations, also of scalars

cdef class NativeOperation:
    cdef cupola_op* native

# DLPack's type code and bits of a dtype; bits of 0 where it has none.
cdef tuple type_of(object dtype)
