extern "C" __global__ void softmax(const float* x, float* y, int rows, int columns) {
    __shared__ float parts[128];
    const int t = threadIdx.x;
    const size_t row = (size_t)blockIdx.x * columns;
    float total = 0;
    for (int c = t; c < columns; c += 128) total += expf(x[row + c]);
    parts[t] = total;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (t < half) parts[t] += parts[t + half];
        __syncthreads();
    }
    for (int c = t; c < columns; c += 128) y[row + c] = expf(x[row + c]) / parts[0];
}
