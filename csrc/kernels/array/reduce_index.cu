// csrc/kernels/array/reduce_index.cu - kernels for argmin and argmax, one for each comparison type.
#include "reduce_index.cuh"

CUPOLA_REDUCE(reduce_index, reduce_index, i64)
CUPOLA_REDUCE(reduce_index, reduce_index, u64)
CUPOLA_REDUCE(reduce_index, reduce_index, f32)
CUPOLA_REDUCE(reduce_index, reduce_index, f64)
CUPOLA_REDUCE(reduce_index, reduce_index, c64)
CUPOLA_REDUCE(reduce_index, reduce_index, c128)
