// A thread owns a pair, and reads its angle once.
extern "C" __global__ void rotary(const float* x, const float* cosines, const float* sines,
                                  float* y, int tokens, int heads, int width, int turned) {
    const int token = blockIdx.x, half = turned / 2;
    const size_t start = ((size_t)token * heads + blockIdx.y) * width;
    for (int p = threadIdx.x; p < half; p += blockDim.x) {
        const float c = cosines[(size_t)token * turned + p], s = sines[(size_t)token * turned + p];
        const float first = x[start + p], second = x[start + half + p];
        y[start + p] = first * c - second * s;
        y[start + half + p] = second * c + first * s;
    }
    for (int d = 2 * half + threadIdx.x; d < width; d += blockDim.x) y[start + d] = x[start + d];
}
