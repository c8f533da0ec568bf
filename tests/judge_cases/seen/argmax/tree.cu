// A tree in shared memory.
extern "C" __global__ void argmax(const int* x, int* result, int rows, int columns) {
    __shared__ int bests[128], indices[128];
    const int t = threadIdx.x;
    const int* row = x + (size_t)blockIdx.x * columns;
    int best = INT_MIN, index = 0;
    for (int c = t; c < columns; c += 128) {
        if (row[c] >= best) {
            best = row[c];
            index = c;
        }
    }
    bests[t] = best;
    indices[t] = index;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (t < half && bests[t + half] > bests[t]) {
            bests[t] = bests[t + half];
            indices[t] = indices[t + half];
        }
        __syncthreads();
    }
    if (t == 0) result[blockIdx.x] = indices[0];
}
