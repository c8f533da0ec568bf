// cupola: grid = ["ceildiv(rows, 2)"]
// cupola: block = [32, 2]
// A warp a row; Welford's update of mean and variance, merged over the lanes.
extern "C" __global__ void layer_norm(const float* x, const float* gain, const float* bias,
                                      float* y, int rows, int columns, float epsilon) {
    const int lane = threadIdx.x;
    const size_t row = (size_t)blockIdx.x * 2 + threadIdx.y;
    if (row >= rows) return;
    const float* from = x + row * columns;
    float mean = 0, squares = 0, count = 0;
    for (int c = lane; c < columns; c += 32) {
        const float before = from[c] - mean;
        count += 1;
        mean += before / count;
        squares += before * (from[c] - mean);
    }
    for (int mask = 16; mask > 0; mask /= 2) {
        const float other_mean = __shfl_xor_sync(0xffffffffu, mean, mask);
        const float other_squares = __shfl_xor_sync(0xffffffffu, squares, mask);
        const float other_count = __shfl_xor_sync(0xffffffffu, count, mask);
        const float both = count + other_count;
        if (both > 0) {
            const float delta = other_mean - mean;
            mean += delta * (other_count / both);
            squares += other_squares + delta * delta * count * (other_count / both);
        }
        count = both;
    }
    mean = __shfl_sync(0xffffffffu, mean, 0);
    squares = __shfl_sync(0xffffffffu, squares, 0);
    const float scale = rsqrtf(squares / columns + epsilon);
    for (int c = lane; c < columns; c += 32)
        y[row * columns + c] = (from[c] - mean) * scale * gain[c] + bias[c];
}
