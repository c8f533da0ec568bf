extern "C" __global__ void transpose(const float* x, float* y, int rows, int columns) {
    __shared__ float tile[32][33];
    int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
    for (int step = 0; step < 32; step += 8)
        if (column < columns && row + step < rows)
            tile[threadIdx.y + step][threadIdx.x] = x[(row + step) * columns + column];
    column = blockIdx.y * 32 + threadIdx.x;
    row = blockIdx.x * 32 + threadIdx.y;
    for (int step = 0; step < 32; step += 8)
        if (column < rows && row + step < columns)
            y[(row + step) * rows + column] = tile[threadIdx.x][threadIdx.y + step];
}
