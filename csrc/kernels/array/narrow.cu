// csrc/kernels/array/narrow.cu - arithmetic and predicates of what is computed in 32 bits.
#include "mixed.cuh"
#include "strided.cuh"

CUPOLA_FLAT(b8)
CUPOLA_FLAT(i8)
CUPOLA_FLAT(i16)
CUPOLA_FLAT(i32)
CUPOLA_FLAT(u8)
CUPOLA_FLAT(u16)
CUPOLA_FLAT(u32)
CUPOLA_STRIDED(b8)
CUPOLA_STRIDED(i8)
CUPOLA_STRIDED(i16)
CUPOLA_STRIDED(i32)
CUPOLA_STRIDED(u8)
CUPOLA_STRIDED(u16)
CUPOLA_STRIDED(u32)
CUPOLA_MIXED(i32, 6)
CUPOLA_MIXED(u32, 6)
