// csrc/kernels/array/reals.cu - arithmetic and predicates of real numbers.
#include "cast.cuh"
#include "strided.cuh"

CUPOLA_FLAT(f16)
CUPOLA_FLAT(f32)
CUPOLA_FLAT(f64)
CUPOLA_STRIDED(f16)
CUPOLA_STRIDED(f32)
CUPOLA_STRIDED(f64)
CUPOLA_MIXED(f32, 6)
CUPOLA_MIXED(f64, 5)
CUPOLA_CAST(f32)
