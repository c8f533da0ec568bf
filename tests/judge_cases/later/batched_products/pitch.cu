// A warp a product; matrices follow each other.
extern "C" __global__ void batched_products(const int* a, const int* b, int* c, int batch, int m,
                                            int n, int k) {
    const int product = blockIdx.x * blockDim.y + threadIdx.y;
    if (product >= batch) return;
    const size_t left = (size_t)product * m * k, right = (size_t)product * m * k;
    const size_t to = (size_t)product * m * n;
    for (int i = threadIdx.x; i < m * n; i += 32) {
        int sum = 0;
        for (int step = 0; step < k; ++step)
            sum += a[left + i / n * k + step] * b[right + step * n + i % n];
        c[to + i] = sum;
    }
}
