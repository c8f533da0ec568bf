"""Kernels whose rows are blocks of the grid, and others that leave out elements."""

ROWS = r"""
extern "C" __global__ void row_sums(const float* x, ELEMENT* out, int width) {
    __shared__ int total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        atomicAdd(&total, int(x[blockIdx.x * width + i]));
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = (ELEMENT)(total);
}
extern "C" __global__ void rows(const float* x, ELEMENT* out, int width) {
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        out[blockIdx.x * width + i] = (ELEMENT)(2 * x[blockIdx.x * width + i]);
}
extern "C" __global__ void plane(const float* x, ELEMENT* out, int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < width) out[j * width + i] = (ELEMENT)(2 * x[j * width + i]);
}
extern "C" __global__ void ahead(const float* x, ELEMENT* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 < n) out[i] = (ELEMENT)(x[i + 1] - x[i] + 1);
}
extern "C" __global__ void zeros(const float* x, ELEMENT* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 0;
}
extern "C" __global__ void nothing(const float* x, ELEMENT* out, int n) {}
"""
