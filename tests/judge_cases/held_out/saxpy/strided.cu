// cupola: grid = [4]
extern "C" __global__ void saxpy(float a, const float* x, const float* b, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = a * x[i] + b[i];
}
