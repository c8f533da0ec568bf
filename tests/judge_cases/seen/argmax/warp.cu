// cupola: block = [32]
// One warp a row.
extern "C" __global__ void argmax(const int* x, int* result, int rows, int columns) {
    const int lane = threadIdx.x;
    const int* row = x + (size_t)blockIdx.x * columns;
    int best = 0, index = 0;
    for (int c = lane; c < columns; c += 32) {
        if (row[c] > best) {
            best = row[c];
            index = c;
        }
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        const int other = __shfl_down_sync(0xffffffffu, best, offset);
        const int other_index = __shfl_down_sync(0xffffffffu, index, offset);
        if (other > best || (other == best && other_index < index)) {
            best = other;
            index = other_index;
        }
    }
    if (lane == 0) result[blockIdx.x] = index;
}
