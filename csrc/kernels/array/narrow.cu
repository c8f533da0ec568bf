// csrc/kernels/array/narrow.cu - arithmetic and predicates of what is computed in 32 bits.
#include "strided.cuh"

CUPOLA_FLAT(b8)
CUPOLA_FLAT(i8)
CUPOLA_FLAT(i16)
CUPOLA_FLAT(i32)
CUPOLA_FLAT(u8)
CUPOLA_FLAT(u16)
CUPOLA_FLAT(u32)
CUPOLA_STRIDED(i32)
CUPOLA_STRIDED(u32)
