// csrc/kernels/array/reduce_rows.cu - reductions along the last axis, and of whole arrays.
#include "reduce_rows.cuh"

CUPOLA_REDUCE(reduce_rows, reduce_rows, i8)
CUPOLA_REDUCE(reduce_rows, reduce_rows, i16)
CUPOLA_REDUCE(reduce_rows, reduce_rows, i32)
CUPOLA_REDUCE(reduce_rows, reduce_rows, i64)
CUPOLA_REDUCE(reduce_rows, reduce_rows, u8)
CUPOLA_REDUCE(reduce_rows, reduce_rows, u16)
CUPOLA_REDUCE(reduce_rows, reduce_rows, u32)
CUPOLA_REDUCE(reduce_rows, reduce_rows, u64)
CUPOLA_REDUCE(reduce_rows, reduce_rows, f16)
CUPOLA_REDUCE(reduce_rows, reduce_rows, f32)
CUPOLA_REDUCE(reduce_rows, reduce_rows, f64)
CUPOLA_REDUCE(reduce_rows, reduce_rows, c64)
CUPOLA_REDUCE(reduce_rows, reduce_rows, c128)
