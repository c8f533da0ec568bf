extern "C" __global__ void roll(const int* x, int* y, int rows, int columns, int shift) {
    const size_t row = (size_t)blockIdx.x * columns;
    for (int c = threadIdx.x; c < columns; c += 128) {
        int from = c - shift;
        if (from < 0) from += columns;
        if (from >= columns) from -= columns;
        y[row + c] = x[row + from];
    }
}
