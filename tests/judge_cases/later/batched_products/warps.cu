// A warp a product; its lanes stride over the elements.
extern "C" __global__ void batched_products(const int* a, const int* b, int* c, int batch, int m,
                                            int n, int k) {
    const long long product = (long long)blockIdx.x * blockDim.y + threadIdx.y;
    if (product >= batch) return;
    a += product * m * k;
    b += product * k * n;
    c += product * m * n;
    for (int i = threadIdx.x; i < m * n; i += 32) {
        const int row = i / n, column = i % n;
        int sum = 0;
        for (int step = 0; step < k; ++step) sum += a[row * k + step] * b[step * n + column];
        c[i] = sum;
    }
}
