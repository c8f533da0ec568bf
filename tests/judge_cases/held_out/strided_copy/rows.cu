// cupola: grid = ["rows"]
// Rows whose elements follow each other are read four at a time from the first aligned address.
extern "C" __global__ void strided_copy(const float* x, float* y, int rows, int columns,
                                        long long down, long long right) {
    const float* from = x + blockIdx.x * down;
    float* to = y + (size_t)blockIdx.x * columns;
    if (right != 1) {
        for (int c = threadIdx.x; c < columns; c += 128) to[c] = from[c * right] + from[c * right];
        return;
    }
    const int head = min(columns, (int)((16 - (size_t)from % 16) % 16 / 4));
    const int quads = (columns - head) / 4, tail = head + 4 * quads;
    if (threadIdx.x < head) to[threadIdx.x] = 2.0f * from[threadIdx.x];
    for (int q = threadIdx.x; q < quads; q += 128) {
        const float4 v = reinterpret_cast<const float4*>(from + head)[q];
        float* four = to + head + 4 * q;
        four[0] = 2.0f * v.x;
        four[1] = 2.0f * v.y;
        four[2] = 2.0f * v.z;
        four[3] = 2.0f * v.w;
    }
    for (int c = tail + threadIdx.x; c < columns; c += 128) to[c] = 2.0f * from[c];
}
