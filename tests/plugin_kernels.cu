// tests/plugin_kernels.cu - kernels of tests/test_pytest_plugin.py, right and wrong ones.
#include <cassert>

// A barrier is missing: the usual order hides it, since the first warp runs first.
extern "C" __global__ void spread(const int* x, int* out) {
    __shared__ int tile[32];
    if (threadIdx.x < 32) tile[threadIdx.x] = x[threadIdx.x];
    out[threadIdx.x] = tile[threadIdx.x % 32];
}

extern "C" __global__ void doubled(int* x) { x[threadIdx.x] *= 2; }

extern "C" __global__ void must() { assert(threadIdx.x < 3); }
