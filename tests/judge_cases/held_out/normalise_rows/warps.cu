// cupola: grid = ["ceildiv(rows, 4)"]
// A warp a row. The first pass stores the products in place.
extern "C" __global__ void normalise_rows(float* x, const float* weights, int rows, int columns) {
    const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float* elements = x + (size_t)row * columns;
    float total = 0;
    for (int c = lane; c < columns; c += 32) total += elements[c] *= weights[c];
    for (int mask = 16; mask > 0; mask /= 2) total += __shfl_xor_sync(0xffffffffu, total, mask);
    const float factor = 1.0f / total;
    for (int c = lane; c < columns; c += 32) elements[c] *= factor;
}
