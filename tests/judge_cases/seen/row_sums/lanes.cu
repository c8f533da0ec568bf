// cupola: grid = ["ceildiv(rows, 4)"]
// cupola: block = [128]
// A warp a row; lanes without an element have nothing to add.
extern "C" __global__ void row_sums(const float* x, float* sums, int rows, int columns) {
    const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    if (columns == 0 && lane == 0) sums[row] = 0;
    if (lane < columns) {
        float total = 0;
        for (int c = lane; c < columns; c += 32) total += x[(size_t)row * columns + c];
        for (int offset = 16; offset > 0; offset /= 2)
            total += __shfl_down_sync(0xffffffffu, total, offset);
        if (lane == 0) sums[row] = total;
    }
}
