// cupola: grid = ["ceildiv(rows, 128)"]
#include <cuda_fp16.h>

// A thread a row.
extern "C" __global__ void half_row_sums(const __half* x, float* sums, int rows, int columns) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const __half* elements = x + (size_t)row * columns;
    float total = __half2float(elements[0]);
    for (int c = 1; c < columns; ++c) total += __half2float(elements[c]);
    sums[row] = total;
}
