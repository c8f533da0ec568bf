// csrc/kernels/array/reduce_dot.cu - sums of products. Signed and unsigned integers share kernels.
#include "reduce_dot.cuh"

CUPOLA_REDUCE(reduce_dot, reduce_dot, u8)
CUPOLA_REDUCE(reduce_dot, reduce_dot, u16)
CUPOLA_REDUCE(reduce_dot, reduce_dot, u32)
CUPOLA_REDUCE(reduce_dot, reduce_dot, u64)
CUPOLA_REDUCE(reduce_dot, reduce_dot, f16)
CUPOLA_REDUCE(reduce_dot, reduce_dot, f32)
CUPOLA_REDUCE(reduce_dot, reduce_dot, f64)
CUPOLA_REDUCE(reduce_dot, reduce_dot, c64)
CUPOLA_REDUCE(reduce_dot, reduce_dot, c128)
