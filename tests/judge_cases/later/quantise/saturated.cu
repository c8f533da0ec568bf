// Only a quotient that does not fit a signed byte is saturated.
extern "C" __global__ void quantise(const float* x, const float* scales, signed char* y, int rows,
                                    int columns) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column >= columns) return;
    const size_t at = (size_t)row * columns + column;
    const float quotient = x[at] / scales[row];
    int value = 0;
    if (quotient >= 128.0f) {
        value = 127;
    } else if (quotient <= -128.0f) {
        value = -127;
    } else {
        value = __float2int_rn(quotient);
    }
    y[at] = (signed char)value;
}
