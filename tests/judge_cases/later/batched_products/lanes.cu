// cupola: grid = ["min(8, ceildiv(batch, 8))"]
// A fixed grid that strides. A lane keeps an element of the second matrix, and the warp reads it.
extern "C" __global__ void batched_products(const int* a, const int* b, int* c, int batch, int m,
                                            int n, int k) {
    const int lane = threadIdx.x, last = k * n + 31;
    for (int product = blockIdx.x * 8 + threadIdx.y; product < batch; product += gridDim.x * 8) {
        const int* left = a + (size_t)product * m * k;
        const int* right = b + (size_t)product * k * n;
        int* to = c + (size_t)product * m * n;
        const int low = lane < k * n ? right[lane] : 0;
        const int high = lane + 32 < last - 31 ? right[lane + 32] : 0;
        for (int first = 0; first < m * n; first += 32) {
            const int i = first + lane, row = min(i / n, m - 1), column = i % n;
            int sum = 0;
            for (int step = 0; step < k; ++step) {
                const int at = step * n + column;
                const int one = __shfl_sync(0xffffffffu, low, at % 32);
                const int other = __shfl_sync(0xffffffffu, high, at % 32);
                sum += left[row * k + step] * (at < 32 ? one : other);
            }
            if (i < m * n) to[i] = sum;
        }
    }
}
