// tests/device_output.cu - kernels that print, and one whose assertion fails.
#include <cassert>
#include <cstdio>

extern "C" __global__ void say(int n) { printf("launch %d, block %d\n", n, blockIdx.x); }

extern "C" __global__ void fill() {
    printf("%06d ---------------------------------\n", blockIdx.x);
}

extern "C" __global__ void spin(int* x, int n) {
    for (int i = 0; i < n; ++i) x[threadIdx.x] += i;
    printf("%d\n", threadIdx.x + blockIdx.x * blockDim.x);
}

__device__ void check(int n) { assert(n < 5 && "too many"); }
extern "C" __global__ void must() { check(threadIdx.x + 10 * threadIdx.y); }
