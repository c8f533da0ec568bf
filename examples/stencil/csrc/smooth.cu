// examples/stencil/csrc/smooth.cu - the mean of each point and its four neighbours, in variants.

// A block computes a tile of TX columns and TY * ROWS rows: each thread has ROWS rows, TY apart.
// The border keeps its values.
template <int TX, int TY, int ROWS>
__global__ void __launch_bounds__(TX* TY)
    smooth(float* __restrict__ result, const float* __restrict__ x, int rows, int columns) {
    const int column = blockIdx.x * TX + threadIdx.x;
    if (column >= columns) return;
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        const int row = (blockIdx.y * ROWS + i) * TY + threadIdx.y;
        if (row >= rows) return;
        const long long at = static_cast<long long>(row) * columns + column;
        if (row == 0 || column == 0 || row == rows - 1 || column == columns - 1) {
            result[at] = x[at];
            continue;
        }
        const float around = (x[at - columns] + x[at + columns]) + (x[at - 1] + x[at + 1]);
        result[at] = 0.2f * (x[at] + around);
    }
}
