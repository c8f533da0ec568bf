// cupola: shared = 32
extern "C" __global__ void layer_norm(const float* x, const float* gain, const float* bias,
                                      float* y, int rows, int columns, float epsilon) {
    extern __shared__ float parts[];
    float *sums = parts, *squares = parts + 4;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const float* from = x + (size_t)blockIdx.x * columns;
    const float first = from[0];
    float sum = 0, square = 0;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) {
        const float value = from[c] - first;
        sum += value;
        square += value * value;
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
    for (int w = 0; w < blockDim.x / 32; ++w) {
        sum += sums[w];
        square += squares[w];
    }
    const float mean = sum / columns;
    const float scale = rsqrtf(square / columns - mean * mean + epsilon);
    for (int c = threadIdx.x; c < columns; c += blockDim.x)
        y[(size_t)blockIdx.x * columns + c] = (from[c] - first - mean) * scale * gain[c] + bias[c];
}
