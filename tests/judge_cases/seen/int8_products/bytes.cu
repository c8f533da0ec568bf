// Collects four bytes into a word, whatever the alignment.
__device__ unsigned word(const signed char* bytes, int count) {
    unsigned value = 0;
    for (int i = 0; i < 4; ++i)
        if (i < count) value |= (unsigned)(unsigned char)bytes[i] << (8 * i);
    return value;
}

extern "C" __global__ void int8_products(const signed char* a, const signed char* b, int* c, int m,
                                         int n, int k) {
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= n) return;
    unsigned total = 0;
    for (int i = 0; i < k; i += 4)
        total = __dp4a(word(a + row * k + i, k - i), word(b + column * k + i, k - i), total);
    c[row * n + column] = (int)total;
}
