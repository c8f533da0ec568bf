// Two copies: the elements that stay in order on the right, and those that wrap on the left.
extern "C" __global__ void roll(const int* x, int* y, int rows, int columns, int shift) {
    if (columns == 0) return;
    const int* from = x + (size_t)blockIdx.x * columns;
    int* to = y + (size_t)blockIdx.x * columns;
    const int places = (shift % columns + columns) % columns;
    for (int c = threadIdx.x; c < columns - places; c += 128) to[places + c] = from[c];
    for (int c = threadIdx.x; c < places; c += 128) to[c] = from[columns - places + c];
}
