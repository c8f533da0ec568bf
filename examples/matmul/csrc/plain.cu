// csrc/plain.cu - the same matrix product for all GPUs.
#include <cuda_fp16.h>

constexpr int tile = 16;

// c = a * b^T. `a` has the rows of c, `b` its columns; both have `depth` halves in a row.
extern "C" __global__ void product_plain(const __half* a, const __half* b, float* c, int rows,
                                         int columns, int depth) {
    __shared__ __half of_a[tile][tile + 2], of_b[tile][tile + 2];
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * tile + y, column = blockIdx.x * tile + x;
    const int other = blockIdx.x * tile + y;  // the row of b that this thread loads
    float sum = 0;
    for (int start = 0; start < depth; start += tile) {
        const int k = start + x;
        const __half zero = __float2half(0.0f);
        of_a[y][x] = row < rows && k < depth ? a[static_cast<long long>(row) * depth + k] : zero;
        of_b[y][x] =
            other < columns && k < depth ? b[static_cast<long long>(other) * depth + k] : zero;
        __syncthreads();
        for (int n = 0; n < tile; ++n) sum += __half2float(of_a[y][n]) * __half2float(of_b[x][n]);
        __syncthreads();
    }
    if (row < rows && column < columns) c[static_cast<long long>(row) * columns + column] = sum;
}
