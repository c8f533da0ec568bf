// cupola: grid = [1, 1, "batch"]
// A block a product, a thread an element.
extern "C" __global__ void batched_products(const int* a, const int* b, int* c, int batch, int m,
                                            int n, int k) {
    const int row = threadIdx.y, column = threadIdx.x;
    const size_t product = blockIdx.z;
    if (row >= m || column >= n) return;
    int sum = 0;
    for (int step = 0; step < k; ++step)
        sum += a[(product * m + row) * k + step] * b[(product * k + step) * n + column];
    c[(product * m + row) * n + column] = sum;
}
