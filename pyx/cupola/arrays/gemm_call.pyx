# cupola/arrays/gemm_call.pyx - a product of matrices by cuBLAS.
# cython: language_level=3
"""`GemmCall`: a call of cublasGemmStridedBatchedEx without its addresses."""

from libc.stdint cimport uintptr_t
from libc.string cimport memcpy

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, cupola_device_pop, cupola_device_push,
)
from cupola.abi cimport require
from cupola.array_data cimport ArrayData, new_array
from cupola.error cimport check
from cupola.stream cimport Stream, current_stream

from cupola.exceptions import DriverError


cdef class GemmCall:
    """A product of two operands of one form.

    cuBLAS counts by columns, so it multiplies the second operand's transpose by the first one's.

    Parameters
    ----------
    functions : tuple of int
        The addresses of cublasSetStream_v2 and cublasGemmStridedBatchedEx.
    handle : int
    lock : context manager
        A handle has one stream at a time: it is held from the choice of the stream to the call.
    shape : tuple of int
        Of the result.
    dtype : numpy.dtype
        Of both operands and of the result.
    one, zero : bytes
        The factors of the product and of the result's old elements; at most 16 bytes.
    numbers : tuple of int
        The function's arguments in their order, but the handle, the addresses and the types:
        the data type comes first.
    """

    def __init__(
        self, tuple functions not None, handle, lock, tuple shape not None, dtype, bytes one,
        bytes zero, tuple numbers not None,
    ):
        self.choose = <set_stream><void*><uintptr_t>functions[0]
        self.multiply = <gemm><void*><uintptr_t>functions[1]
        self.handle = <void*><uintptr_t>handle
        self.lock, self.shape, self.dtype = lock, shape, dtype
        if max(len(one), len(zero)) > 16:
            raise ValueError("a factor has more than 16 bytes")
        memcpy(self.one, <const char*>one, len(one))
        memcpy(self.zero, <const char*>zero, len(zero))
        (
            self.data, self.transposes_a, self.transposes_b, self.rows, self.columns, self.inner,
            self.leading_a, self.stride_a, self.leading_b, self.stride_b, self.leading_c,
            self.stride_c, self.count, self.compute, self.algorithm,
        ) = numbers

    def queue(self, ArrayData x1 not None, ArrayData x2 not None, ArrayData out not None):
        """Queue ``out = x1 @ x2`` on the current stream.

        Raises
        ------
        DriverError
            Where cuBLAS refuses the call.
        """
        self.queue_on(x2, x1, out)

    cdef ArrayData again(self, ArrayData x1, ArrayData x2):
        """The product of other operands of this form, in a new array."""
        cdef int device = x1.device_index
        cdef ArrayData out = new_array(self.shape, self.dtype, device, current_stream(device))
        self.queue_on(x2, x1, out)
        return out

    cdef int queue_on(self, ArrayData a, ArrayData b, ArrayData out) except -1:
        cdef Stream stream = current_stream(out.device_index)
        cdef const void* first = <const void*><uintptr_t>a.get_address()
        cdef const void* second = <const void*><uintptr_t>b.get_address()
        cdef void* target = <void*><uintptr_t>out.get_address()
        cdef int status = 0, chosen = 0
        a.used_on(stream)
        b.used_on(stream)
        out.used_on(stream)
        with self.lock:
            check(cupola_device_push(out.device_index))
            with nogil:
                chosen = self.choose(self.handle, stream.get_handle())
                status = chosen or self.multiply(
                    self.handle, self.transposes_a, self.transposes_b, self.rows, self.columns,
                    self.inner, self.one, first, self.data, self.leading_a, self.stride_a, second,
                    self.data, self.leading_b, self.stride_b, self.zero, target, self.data,
                    self.leading_c, self.stride_c, self.count, self.compute, self.algorithm)
            check(cupola_device_pop())
        if status:
            name = "cublasSetStream_v2" if chosen else "cublasGemmStridedBatchedEx"
            raise DriverError(f"cuBLAS: {name} failed with the status {status}")
        return 0


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
