// cupola: grid = ["ceildiv(columns, 256)", "max(1, ceildiv(rows, 64))"]
// Each block adds 64 rows; atomic operations combine the blocks.
extern "C" __global__ void column_sums(const float* x, float* sums, int rows, int columns) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= columns) return;
    const int end = min(rows, (int)(blockIdx.y + 1) * 64);
    float total = 0;
    for (int r = blockIdx.y * 64; r < end; ++r) total += x[(size_t)r * columns + c];
    atomicAdd(&sums[c], total);
}
