// The centre of a pixel lies between the centres of four pixels of the input.
extern "C" __global__ void upsample(const float* x, float* y, int height, int width) {
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (column >= 2 * width || row >= 2 * height) return;
    const float u = 0.5f * (column + 0.5f) - 0.5f, v = 0.5f * (row + 0.5f) - 0.5f;
    const int left = (int)u, top = (int)v;
    const int right = min(left + 1, width - 1), bottom = min(top + 1, height - 1);
    const float across = u - left, down = v - top;
    const float upper = x[top * width + left] * (1 - across) + x[top * width + right] * across;
    const float lower =
        x[bottom * width + left] * (1 - across) + x[bottom * width + right] * across;
    y[row * 2 * width + column] = upper * (1 - down) + lower * down;
}
