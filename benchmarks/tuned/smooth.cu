// benchmarks/tuned/smooth.cu - the mean of each point of a matrix and its four neighbours.
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
        const bool inside = row && column && row < rows - 1 && column < columns - 1;
        result[at] = inside
                         ? 0.25f * ((x[at - columns] + x[at + columns]) + (x[at - 1] + x[at + 1]))
                         : x[at];
    }
}
