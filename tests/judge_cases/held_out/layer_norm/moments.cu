// One pass: the variance is the mean of squares less the square of the mean.
extern "C" __global__ void layer_norm(const float* x, const float* gain, const float* bias,
                                      float* y, int rows, int columns, float epsilon) {
    __shared__ float sums[8], squares[8];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const float* from = x + (size_t)blockIdx.x * columns;
    float sum = 0, square = 0;
    for (int c = threadIdx.x; c < columns; c += 256) {
        sum += from[c];
        square += from[c] * from[c];
    }
    for (int mask = 16; mask > 0; mask /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, mask);
        square += __shfl_xor_sync(0xffffffffu, square, mask);
    }
    if (lane == 0) {
        sums[warp] = sum;
        squares[warp] = square;
    }
    __syncthreads();
    sum = square = 0;
    for (int w = 0; w < 8; ++w) {
        sum += sums[w];
        square += squares[w];
    }
    const float mean = sum / columns;
    const float scale = rsqrtf(fmaxf(square / columns - mean * mean, 0.0f) + epsilon);
    for (int c = threadIdx.x; c < columns; c += 256)
        y[(size_t)blockIdx.x * columns + c] = (from[c] - mean) * scale * gain[c] + bias[c];
}
