// csrc/kernels/array/reduce_columns.cu - reductions along axes before the last.
#include "reduce_columns.cuh"

CUPOLA_REDUCE(reduce_columns, reduce_columns, i8)
CUPOLA_REDUCE(reduce_columns, reduce_columns, i16)
CUPOLA_REDUCE(reduce_columns, reduce_columns, i32)
CUPOLA_REDUCE(reduce_columns, reduce_columns, i64)
CUPOLA_REDUCE(reduce_columns, reduce_columns, u8)
CUPOLA_REDUCE(reduce_columns, reduce_columns, u16)
CUPOLA_REDUCE(reduce_columns, reduce_columns, u32)
CUPOLA_REDUCE(reduce_columns, reduce_columns, u64)
CUPOLA_REDUCE(reduce_columns, reduce_columns, f16)
CUPOLA_REDUCE(reduce_columns, reduce_columns, f32)
CUPOLA_REDUCE(reduce_columns, reduce_columns, f64)
CUPOLA_REDUCE(reduce_columns, reduce_columns, c64)
CUPOLA_REDUCE(reduce_columns, reduce_columns, c128)
