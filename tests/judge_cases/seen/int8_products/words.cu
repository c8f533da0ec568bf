#include <cstdint>

// Four products an instruction where both rows begin at a multiple of four bytes.
extern "C" __global__ void int8_products(const signed char* a, const signed char* b, int* c, int m,
                                         int n, int k) {
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= n) return;
    const signed char *left = a + row * k, *right = b + column * k;
    int total = 0, i = 0;
    if ((reinterpret_cast<uintptr_t>(left) | reinterpret_cast<uintptr_t>(right)) % 4 == 0) {
        for (; i + 4 <= k; i += 4)
            total = __dp4a(*reinterpret_cast<const int*>(left + i),
                           *reinterpret_cast<const int*>(right + i), total);
    }
    for (; i < k; ++i) total += left[i] * right[i];
    c[row * n + column] = total;
}
