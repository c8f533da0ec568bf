# cupola/_reduce.pxd - the C ABI of reductions; internal: it needs reduce.h.

from libc.stdint cimport int64_t, uint64_t

from cupola._elementwise cimport cupola_operand
from cupola.handles cimport cupola_stream

cdef extern from "cupola/reduce.h" nogil:
    enum:
        CUPOLA_SUM
        CUPOLA_PRODUCT
        CUPOLA_MINIMUM
        CUPOLA_MAXIMUM
        CUPOLA_ANY
        CUPOLA_ALL
        CUPOLA_MEAN
        CUPOLA_INDEX_OF_MINIMUM
        CUPOLA_INDEX_OF_MAXIMUM
        CUPOLA_DOT

    int cupola_reduce(
        int reduction, int element, const cupola_operand* out, const cupola_operand* x,
        const cupola_operand* y, const int64_t* shape, int ndim, uint64_t axes,
        cupola_stream* stream, bint at_once)
