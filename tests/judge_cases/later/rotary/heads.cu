// cupola: grid = ["tokens"]
// cupola: block = [4, 16]
// A row of four threads a head. The angles of a token are in shared memory.
extern "C" __global__ void rotary(const float* x, const float* cosines, const float* sines,
                                  float* y, int tokens, int heads, int width, int turned) {
    __shared__ float2 angles[8];
    const int token = blockIdx.x, half = turned / 2, thread = threadIdx.y * 4 + threadIdx.x;
    if (thread < turned)
        angles[thread] =
            make_float2(cosines[token * turned + thread], sines[token * turned + thread]);
    __syncthreads();
    if (threadIdx.y >= heads) return;
    const size_t start = ((size_t)token * heads + threadIdx.y) * width;
    const int t = threadIdx.x;
    if (t < half) {
        const float first = x[start + t], second = x[start + half + t];
        const float2 left = angles[t], right = angles[half + t];
        y[start + t] = fmaf(first, left.x, -second * left.y);
        y[start + half + t] = fmaf(second, right.x, first * right.y);
    }
    for (int d = 2 * half + t; d < width; d += 4) y[start + d] = x[start + d];
}
