extern "C" __global__ void reciprocal(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] == 0.0f ? INFINITY : 1.0f / x[i];
}
