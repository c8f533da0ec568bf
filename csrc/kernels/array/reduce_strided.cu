// csrc/kernels/array/reduce_strided.cu - all other reductions, one kernel for each accumulator
// type.
#include "reduce_strided.cuh"

CUPOLA_REDUCE(reduce_strided, reduce_strided, i64)
CUPOLA_REDUCE(reduce_strided, reduce_strided, u64)
CUPOLA_REDUCE(reduce_strided, reduce_strided, f32)
CUPOLA_REDUCE(reduce_strided, reduce_strided, f64)
CUPOLA_REDUCE(reduce_strided, reduce_strided, c64)
CUPOLA_REDUCE(reduce_strided, reduce_strided, c128)
