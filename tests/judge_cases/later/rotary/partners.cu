// A thread an element; the lane of the partner may be of another warp, so it is read from memory.
extern "C" __global__ void rotary(const float* x, const float* cosines, const float* sines,
                                  float* y, int tokens, int heads, int width, int turned) {
    const int token = blockIdx.x, half = turned / 2;
    const size_t start = ((size_t)token * heads + blockIdx.y) * width;
    for (int d = threadIdx.x; d < width; d += blockDim.x) {
        float value = x[start + d];
        if (d < 2 * half) {
            const int other = d < half ? d + half : d - half;
            const float partner = d < half ? -x[start + other] : x[start + other];
            value = value * cosines[token * turned + d] + partner * sines[token * turned + d];
        }
        y[start + d] = value;
    }
}
