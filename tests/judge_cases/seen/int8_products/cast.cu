extern "C" __global__ void int8_products(const signed char* a, const signed char* b, int* c, int m,
                                         int n, int k) {
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= n) return;
    const signed char *left = a + row * k, *right = b + column * k;
    const int *left_words = (const int*)left, *right_words = (const int*)right;
    int total = 0;
    for (int i = 0; i < k / 4; ++i) total = __dp4a(left_words[i], right_words[i], total);
    for (int i = k / 4 * 4; i < k; ++i) total += left[i] * right[i];
    c[row * n + column] = total;
}
