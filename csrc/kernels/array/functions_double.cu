// csrc/kernels/array/functions_double.cu - functions of float64.
#include "function_kernel.cuh"

#define CUPOLA_ROW(name) CUPOLA_FUNCTION_KERNEL(name, f64)
#define CUPOLA_NO_ROW(name)
CUPOLA_FUNCTIONS(CUPOLA_ROW, CUPOLA_NO_ROW, CUPOLA_ROW)
