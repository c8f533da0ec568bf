extern "C" __global__ void largest_four(const int* x, int* largest, int rows, int columns) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    int kept[4] = {INT_MIN, INT_MIN, INT_MIN, INT_MIN};
    for (int c = 0; c < columns; ++c) {
        int value = x[(size_t)row * columns + c];
#pragma unroll
        for (int place = 0; place < 4; ++place) {
            const int lower = min(kept[place], value);
            kept[place] = max(kept[place], value);
            value = lower;
        }
    }
    for (int place = 0; place < 4; ++place) largest[row * 4 + place] = kept[place];
}
