extern "C" __global__ void strided_copy(const float* x, float* y, int rows, int columns,
                                        long long down, long long right) {
    const float* from = x + blockIdx.y * down;
    float* to = y + (size_t)blockIdx.y * columns;
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (right == 1 && columns % 4 == 0) {
        if (c % 4 != 0 || c >= columns) return;
        const float4 v = *reinterpret_cast<const float4*>(from + c);
        to[c] = 2.0f * v.x;
        to[c + 1] = 2.0f * v.y;
        to[c + 2] = 2.0f * v.z;
        to[c + 3] = 2.0f * v.w;
    } else if (c < columns) {
        to[c] = 2.0f * from[c * right];
    }
}
