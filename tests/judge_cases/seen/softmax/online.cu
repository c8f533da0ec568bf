// cupola: grid = ["ceildiv(rows, 4)"]
// A warp a row. One pass finds the largest element and the sum together.
__device__ void merge(float& largest, float& total, float other, float other_total) {
    const float both = fmaxf(largest, other);
    const float left = largest == both ? 1.0f : expf(largest - both);
    const float right = other == both ? 1.0f : expf(other - both);
    total = total * left + other_total * right;
    largest = both;
}

extern "C" __global__ void softmax(const float* x, float* y, int rows, int columns) {
    const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    const float* from = x + (size_t)row * columns;
    float largest = -INFINITY, total = 0;
    for (int c = lane; c < columns; c += 32) {
        const float value = from[c];
        merge(largest, total, value, value < INFINITY ? 1.0f : NAN);
    }
    for (int mask = 16; mask > 0; mask /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, largest, mask);
        const float other_total = __shfl_xor_sync(0xffffffffu, total, mask);
        merge(largest, total, other, other_total);
    }
    for (int c = lane; c < columns; c += 32)
        y[(size_t)row * columns + c] = expf(from[c] - largest) / total;
}
