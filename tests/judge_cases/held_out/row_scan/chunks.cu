extern "C" __global__ void row_scan(const int* x, int* y, int rows, int columns) {
    __shared__ unsigned tile[2][256];
    const int t = threadIdx.x;
    const size_t row = (size_t)blockIdx.x * columns;
    for (int first = 0; first < columns; first += 256) {
        int now = 0;
        tile[0][t] = first + t < columns ? x[row + first + t] : 0;
        __syncthreads();
        for (int offset = 1; offset < 256; offset *= 2) {
            tile[1 - now][t] = tile[now][t] + (t >= offset ? tile[now][t - offset] : 0);
            now = 1 - now;
            __syncthreads();
        }
        if (first + t < columns) y[row + first + t] = tile[now][t];
        __syncthreads();
    }
}
