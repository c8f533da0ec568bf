extern "C" __global__ void floor_divide(const int* a, const int* b, int* q, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) q[i] = a[i] / b[i] - (a[i] % b[i] < 0);
}
