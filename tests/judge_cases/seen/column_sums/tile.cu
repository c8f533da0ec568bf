// cupola: grid = ["ceildiv(columns, 32)"]
// cupola: block = [32, 8]
// Eight threads share a column; the shared array has no initial value, and each element of it is
// written before it is read.
extern "C" __global__ void column_sums(const float* x, float* sums, int rows, int columns) {
    __shared__ float parts[8][32];
    const int c = blockIdx.x * 32 + threadIdx.x;
    float total = 0;
    if (c < columns)
        for (int r = threadIdx.y; r < rows; r += 8) total += x[(size_t)r * columns + c];
    parts[threadIdx.y][threadIdx.x] = total;
    __syncthreads();
    if (threadIdx.y == 0 && c < columns) {
        for (int part = 1; part < 8; ++part) total += parts[part][threadIdx.x];
        sums[c] = total;
    }
}
