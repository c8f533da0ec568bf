// The conversion to an integer rounds to even, saturates, and makes 0 of a NaN.
extern "C" __global__ void quantise(const float* x, const float* scales, signed char* y, int rows,
                                    int columns) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column >= columns) return;
    const size_t at = (size_t)row * columns + column;
    y[at] = (signed char)max(-127, min(127, __float2int_rn(x[at] / scales[row])));
}
