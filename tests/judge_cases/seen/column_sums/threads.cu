extern "C" __global__ void column_sums(const float* x, float* sums, int rows, int columns) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= columns) return;
    float total = 0;
    for (int r = 0; r < rows; ++r) total += x[(size_t)r * columns + c];
    sums[c] = total;
}
