extern "C" __global__ void saxpy(float a, const float* x, const float* b, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > n) return;
    y[i] = a * x[i] + b[i];
}
