// tests/operations.cu - kernels of the tests of declared operations.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

// v = alpha * u, for all elements of a plane.
template <class T>
__global__ void scale_plane(const T* u, T* v, int ny, int nx, T alpha) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < nx && y < ny) v[y * nx + x] = alpha * u[y * nx + x];
}
template __global__ void scale_plane(const float*, float*, int, int, float);
template __global__ void scale_plane(const double*, double*, int, int, double);

// Stores the value of an expression.
__global__ void store(const unsigned char*, long long* out, long long value) { *out = value; }

template <class T>
__global__ void copy(const T* x, T* y, long long n) {
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
template __global__ void copy(const __half*, __half*, long long);
template __global__ void copy(const __nv_bfloat16*, __nv_bfloat16*, long long);
template __global__ void copy(const unsigned char*, unsigned char*, long long);
template __global__ void copy(const float*, float*, long long);
template __global__ void copy(const int*, int*, long long);

// cache[i] += x[i], and the sum of x, by way of shared memory and a workspace; one block.
__global__ void accumulate(float* cache, const float* x, float* sums, float* total, int n) {
    extern __shared__ float part[];
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        sum += x[i];
        cache[i] += x[i];
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    sums[threadIdx.x] = part[blockDim.x - 1 - threadIdx.x];
    __syncthreads();
    if (threadIdx.x) return;
    sum = 0;
    for (int j = 0; j < blockDim.x; ++j) sum += sums[j];
    *total = sum;
}

// y = x * w + bias, where bias may be null and w of one element; x has the given strides.
__global__ void weigh(const float* x, const float* w, const float* bias, float* y, long long rows,
                      int n, long long row, long long column, long long step) {
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= rows * n) return;
    const long long r = i / n, c = i % n;
    y[i] = x[r * row + c * column] * w[c * step] + (bias ? bias[c] : 0);
}

// The sums and the differences of pairs.
__global__ void both(const float* a, const float* b, float* sum, float* difference, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    sum[i] = a[i] + b[i];
    difference[i] = a[i] - b[i];
}

// y[b, i] = x[b, i] + b, for a batch.
__global__ void number(const float* x, float* y, int batch, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && blockIdx.y < batch) y[blockIdx.y * n + i] = x[blockIdx.y * n + i] + blockIdx.y;
}
