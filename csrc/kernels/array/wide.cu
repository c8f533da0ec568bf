// csrc/kernels/array/wide.cu - arithmetic and predicates of integers of 64 bits.
#include "mixed.cuh"
#include "strided.cuh"

CUPOLA_FLAT(i64)
CUPOLA_FLAT(u64)
CUPOLA_STRIDED(i64)
CUPOLA_STRIDED(u64)
CUPOLA_MIXED(i64, 5)
CUPOLA_MIXED(u64, 5)
