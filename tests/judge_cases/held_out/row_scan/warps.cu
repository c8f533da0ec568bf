extern "C" __global__ void row_scan(const int* x, int* y, int rows, int columns) {
    __shared__ unsigned totals[8];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const size_t row = (size_t)blockIdx.x * columns;
    unsigned carry = 0;
    for (int first = 0; first < columns; first += 256) {
        const int c = first + threadIdx.x;
        unsigned sum = c < columns ? x[row + c] : 0;
        for (int offset = 1; offset < 32; offset *= 2) {
            const unsigned before = __shfl_up_sync(0xffffffffu, sum, offset);
            if (lane >= offset) sum += before;
        }
        if (lane == 31) totals[warp] = sum;
        __syncthreads();
        unsigned before = carry;
        for (int w = 0; w < 8; ++w) {
            if (w < warp) before += totals[w];
            carry += totals[w];
        }
        if (c < columns) y[row + c] = before + sum;
        __syncthreads();
    }
}
