extern "C" __global__ void average(const int* a, const int* b, int* middle, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) middle[i] = (int)(((long long)a[i] + b[i]) >> 1);
}
