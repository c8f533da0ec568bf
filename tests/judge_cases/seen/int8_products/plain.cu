extern "C" __global__ void int8_products(const signed char* a, const signed char* b, int* c, int m,
                                         int n, int k) {
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= n) return;
    int total = 0;
    for (int i = 0; i < k; ++i) total += a[row * k + i] * b[column * k + i];
    c[row * n + column] = total;
}
