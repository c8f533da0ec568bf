extern "C" __global__ void row_scan(const int* x, int* y, int rows, int columns) {
    __shared__ unsigned tile[256];
    const int t = threadIdx.x;
    const size_t row = (size_t)blockIdx.x * columns;
    unsigned carry = 0;
    for (int first = 0; first < columns; first += 256) {
        tile[t] = first + t < columns ? x[row + first + t] : 0;
        __syncthreads();
        for (int offset = 1; offset < 256; offset *= 2) {
            if (t >= offset) tile[t] += tile[t - offset];
            __syncthreads();
        }
        if (first + t < columns) y[row + first + t] = tile[t] + carry;
        carry += tile[255];
        __syncthreads();
    }
}
