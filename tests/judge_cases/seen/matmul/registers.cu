// cupola: block = [16, 4]
// Each thread computes four rows; two buffers save a barrier a step.
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float left[2][16][16], right[2][16][16];
    const int x = threadIdx.x, y = threadIdx.y;
    const int column = blockIdx.x * 16 + x;
    float totals[4] = {};
    int buffer = 0;
    for (int first = 0; first < k; first += 16, buffer ^= 1) {
        for (int part = y; part < 16; part += 4) {
            const int row = blockIdx.y * 16 + part;
            left[buffer][part][x] = row < m && first + x < k ? a[row * k + first + x] : 0.0f;
            right[buffer][part][x] =
                first + part < k && column < n ? b[(first + part) * n + column] : 0.0f;
        }
        __syncthreads();
        for (int i = 0; i < 16; ++i)
            for (int part = 0; part < 4; ++part)
                totals[part] =
                    fmaf(left[buffer][y + 4 * part][i], right[buffer][i][x], totals[part]);
    }
    for (int part = 0; part < 4; ++part) {
        const int row = blockIdx.y * 16 + y + 4 * part;
        if (row < m && column < n) c[row * n + column] = totals[part];
    }
}
