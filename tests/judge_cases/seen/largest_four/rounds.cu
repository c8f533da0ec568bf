// cupola: grid = ["ceildiv(rows, 2)"]
// A warp a row. Each round finds the largest pair of value and place below that of the last round.
extern "C" __global__ void largest_four(const int* x, int* largest, int rows, int columns) {
    const int row = blockIdx.x * 2 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    long long limit = LLONG_MAX;
    for (int round = 0; round < 4; ++round) {
        long long best = LLONG_MIN;
        for (int c = lane; c < columns; c += 32) {
            const long long key = ((long long)x[(size_t)row * columns + c] << 20) | c;
            if (key < limit && key > best) best = key;
        }
        for (int mask = 16; mask > 0; mask /= 2) {
            const long long other = __shfl_xor_sync(0xffffffffu, best, mask);
            best = other > best ? other : best;
        }
        if (lane == round) largest[row * 4 + round] = (int)(best >> 20);
        limit = best;
    }
}
