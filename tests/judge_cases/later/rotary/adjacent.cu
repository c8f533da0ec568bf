// A thread owns both elements of a pair.
extern "C" __global__ void rotary(const float* x, const float* cosines, const float* sines,
                                  float* y, int tokens, int heads, int width, int turned) {
    const int token = blockIdx.x, half = turned / 2;
    const size_t start = ((size_t)token * heads + blockIdx.y) * width;
    const float* c = cosines + (size_t)token * turned;
    const float* s = sines + (size_t)token * turned;
    for (int p = threadIdx.x; p < half; p += blockDim.x) {
        const float first = x[start + 2 * p], second = x[start + 2 * p + 1];
        y[start + 2 * p] = first * c[2 * p] - second * s[2 * p];
        y[start + 2 * p + 1] = second * c[2 * p + 1] + first * s[2 * p + 1];
    }
    for (int d = 2 * half + threadIdx.x; d < width; d += blockDim.x) y[start + d] = x[start + d];
}
