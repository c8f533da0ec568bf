// csrc/kernels/array/complex.cu - arithmetic and predicates of complex numbers.
#include "mixed.cuh"
#include "strided.cuh"

CUPOLA_FLAT(c64)
CUPOLA_FLAT(c128)
CUPOLA_STRIDED(c64)
CUPOLA_STRIDED(c128)
CUPOLA_MIXED(c64, 5)
CUPOLA_MIXED(c128, 5)
