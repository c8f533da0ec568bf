// csrc/kernels/array/functions_complex128.cu - functions of complex128.
#include "function_kernel.cuh"

#define CUPOLA_ROW(name) CUPOLA_FUNCTION_KERNEL(name, c128)
#define CUPOLA_NO_ROW(name)
CUPOLA_FUNCTIONS(CUPOLA_NO_ROW, CUPOLA_ROW, CUPOLA_ROW)
