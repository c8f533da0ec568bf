// Kernels that tests/debug stops in. The tests find lines by the names in the comments.
struct Point {
    float x;
    int n[3];
};

__device__ int scale = 3;
__constant__ float weights[4] = {0.5f, 1.0f, 1.5f, 2.0f};

__device__ __noinline__ float twice(float v, int i) {
    float r = v * 2.0f;    // twice
    if (i & 1) r += 1.0f;  // odd
    return r;              // twice returns
}

__device__ int factorial(int n) {
    if (n < 2) return 1;  // base
    return n * factorial(n - 1);
}

__device__ __forceinline__ float cube(float v, const float* w) {
    float s = v * v * w[0];  // cube
    return s * v;
}

extern "C" __global__ void reverse(float* out, const float* in, int n, Point p) {
    __shared__ float tile[64];
    extern __shared__ int rest[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;  // first
    float local[4];
    for (int k = 0; k < 4; ++k) local[k] = k * p.x;
    tile[threadIdx.x] = in[i];         // fill
    __syncthreads();                   // barrier
    float t = tile[63 - threadIdx.x];  // read
    if (threadIdx.x < 7) {
        t = twice(t, i);  // few
    } else {
        t = t + 100.0f;  // many
    }
    out[i] = t + local[i % 4] + scale + weights[0] + n + rest[0];  // store
}

extern "C" __global__ void count(int* out) { out[threadIdx.x] = factorial(threadIdx.x); }

extern "C" __global__ void power(float* out, const float* w) {
    out[threadIdx.x] = cube(threadIdx.x, w);  // power
}

extern "C" __global__ void spin(volatile int* go) {
    while (*go == 0) {
        go[1] += 1;  // spin
    }
}
