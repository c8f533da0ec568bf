// cupola: grid = ["rows"]
// Four results are one store where the output's address allows it; head and tail are single stores.
__device__ int rounded(float value, float inverse) {
    const float quotient = fminf(fmaxf(value * inverse, -127.0f), 127.0f);
    return value == value ? (int)rintf(quotient) : 0;
}

extern "C" __global__ void quantise(const float* x, const float* scales, signed char* y, int rows,
                                    int columns) {
    const float inverse = 1.0f / scales[blockIdx.x];
    const float* from = x + (size_t)blockIdx.x * columns;
    signed char* to = y + (size_t)blockIdx.x * columns;
    const int head = min(columns, (int)((4 - (size_t)to % 4) % 4));
    const int words = (columns - head) / 4, tail = head + 4 * words;
    if (threadIdx.x < head) to[threadIdx.x] = rounded(from[threadIdx.x], inverse);
    for (int w = threadIdx.x; w < words; w += blockDim.x) {
        const float* four = from + head + 4 * w;
        unsigned word = 0;
        for (int part = 0; part < 4; ++part)
            word |= (unsigned)(rounded(four[part], inverse) & 255) << (8 * part);
        *reinterpret_cast<unsigned*>(to + head + 4 * w) = word;
    }
    if (threadIdx.x < columns - tail)
        to[tail + threadIdx.x] = rounded(from[tail + threadIdx.x], inverse);
}
