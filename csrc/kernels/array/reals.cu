// csrc/kernels/array/reals.cu - arithmetic and predicates of real numbers.
#include "strided.cuh"

CUPOLA_FLAT(f16)
CUPOLA_FLAT(f32)
CUPOLA_FLAT(f64)
CUPOLA_STRIDED(f32)
CUPOLA_STRIDED(f64)
