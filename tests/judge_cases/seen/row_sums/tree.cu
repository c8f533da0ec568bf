extern "C" __global__ void row_sums(const float* x, float* sums, int rows, int columns) {
    __shared__ float parts[256];
    const int t = threadIdx.x;
    float total = 0;
    for (int c = t; c < columns; c += 256) total += x[(size_t)blockIdx.x * columns + c];
    parts[t] = total;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) parts[t] += parts[t + half];
    }
    if (t == 32) sums[blockIdx.x] = parts[0];
}
