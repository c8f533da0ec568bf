// csrc/kernels/array/functions_single.cu - functions of float32 and float16.
#include "function_kernel.cuh"

#define CUPOLA_ROW(name) CUPOLA_FUNCTION_KERNEL(name, f32)
#define CUPOLA_NO_ROW(name)
CUPOLA_FUNCTIONS(CUPOLA_ROW, CUPOLA_NO_ROW, CUPOLA_ROW)
