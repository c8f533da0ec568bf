# cupola/_elementwise.pxd - the C ABI of operations on arrays; internal: it needs elementwise.h.

from libc.stdint cimport int64_t, uint64_t

from cupola.handles cimport cupola_stream

cdef extern from "cupola/elementwise.h" nogil:
    enum:
        CUPOLA_ELEMENT_NONE
        CUPOLA_BOOL
        CUPOLA_INT8
        CUPOLA_INT16
        CUPOLA_INT32
        CUPOLA_INT64
        CUPOLA_UINT8
        CUPOLA_UINT16
        CUPOLA_UINT32
        CUPOLA_UINT64
        CUPOLA_FLOAT16
        CUPOLA_FLOAT32
        CUPOLA_FLOAT64
        CUPOLA_COMPLEX64
        CUPOLA_COMPLEX128
        CUPOLA_ELEMENTS

    ctypedef union cupola_scalar:
        int64_t integer
        double parts[2]

    ctypedef struct cupola_operand:
        uint64_t address
        const int64_t* strides
        int element

    int cupola_operation(const char* name, int element)
    int cupola_operation_result(int operation, int element)
    bint cupola_operation_is_function(int operation)
    const char* cupola_operation_name(int index)
    int cupola_elementwise_flat(
        int operation, int element, uint64_t out, uint64_t x, uint64_t y,
        const cupola_scalar* scalar, size_t count, cupola_stream* stream, bint at_once)
    int cupola_elementwise(
        int operation, int element, const cupola_operand* out, const cupola_operand* x,
        const cupola_operand* y, const cupola_scalar* scalar, const int64_t* shape, int ndim,
        cupola_stream* stream)
