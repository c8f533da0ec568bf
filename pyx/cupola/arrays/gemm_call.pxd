# cupola/arrays/gemm_call.pxd - a product of matrices by cuBLAS.

from libc.stdint cimport int64_t

from cupola.array_data cimport ArrayData

ctypedef int (*set_stream)(void* handle, void* stream) noexcept nogil
ctypedef int (*gemm)(
    void* handle, int transposes_a, int transposes_b, int rows, int columns, int inner,
    const void* alpha, const void* a, int type_of_a, int leading_a, int64_t stride_a,
    const void* b, int type_of_b, int leading_b, int64_t stride_b, const void* beta, void* c,
    int type_of_c, int leading_c, int64_t stride_c, int count, int compute,
    int algorithm) noexcept nogil

cdef class GemmCall:
    cdef readonly tuple shape
    cdef readonly object dtype
    cdef object lock
    cdef set_stream choose
    cdef gemm multiply
    cdef void* handle
    cdef char[16] one
    cdef char[16] zero
    cdef int transposes_a, transposes_b, rows, columns, inner, data, leading_a, leading_b
    cdef int leading_c, count, compute, algorithm
    cdef int64_t stride_a, stride_b, stride_c

    cdef int queue_on(self, ArrayData a, ArrayData b, ArrayData out) except -1
    cdef ArrayData again(self, ArrayData x1, ArrayData x2)
