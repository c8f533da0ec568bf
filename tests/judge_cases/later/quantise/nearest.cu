extern "C" __global__ void quantise(const float* x, const float* scales, signed char* y, int rows,
                                    int columns) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column >= columns) return;
    const size_t at = (size_t)row * columns + column;
    const float quotient = x[at] / scales[row];
    const float rounded = roundf(fminf(fmaxf(quotient, -127.0f), 127.0f));
    y[at] = isnan(quotient) ? 0 : (signed char)rounded;
}
