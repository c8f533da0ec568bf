// tests/ptx/nvrtc/kernels.cu - small kernels of what programs are made of, for compilers of
// CUDA 12.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" int printf(const char*, ...);

__device__ int sum_of_warp(int v) {
    for (int step = 16; step > 0; step /= 2) v += __shfl_down_sync(0xffffffff, v, step);
    return v;
}

extern "C" __global__ void reduce(const int* x, int* out, int n) {
    __shared__ int part[32];
    int v = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        v += x[i];
    v = sum_of_warp(v);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = sum_of_warp(threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0);
        if (threadIdx.x == 0) atomicAdd(out, v);
    }
}

extern "C" __global__ void scan(const float* x, float* out) {
    extern __shared__ float at[];
    const int t = threadIdx.x, n = blockDim.x;
    at[t] = x[blockIdx.x * n + t];
    for (int step = 1; step < n; step *= 2) {
        __syncthreads();
        const float other = t >= step ? at[t - step] : 0;
        __syncthreads();
        at[t] += other;
    }
    out[blockIdx.x * n + t] = at[t];
}

template <int N>
__device__ void tile(const float* a, const float* b, float* c, int n) {
    __shared__ float left[N][N + 1], right[N][N + 1];
    const int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * N + x,
              row = blockIdx.y * N + y;
    float sum = 0;
    for (int k = 0; k < n; k += N) {
        left[y][x] = a[row * n + k + x];
        right[y][x] = b[(k + y) * n + column];
        __syncthreads();
#pragma unroll
        for (int j = 0; j < N; ++j) sum = fmaf(left[y][j], right[j][x], sum);
        __syncthreads();
    }
    c[row * n + column] = sum;
}
extern "C" __global__ void product(const float* a, const float* b, float* c, int n) {
    tile<16>(a, b, c, n);
}

extern "C" __global__ void atomics(unsigned* out, unsigned long long* wide, float* real) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(out, i);
    atomicMax(out + 1, i);
    atomicMin(out + 2, ~i);
    atomicXor(out + 3, 1u << i % 32);
    atomicInc(out + 4, 9);
    atomicOr(out + 5, i);
    unsigned old = out[6], seen;
    do {
        seen = old;
        old = atomicCAS(out + 6, seen, seen + i * i);
    } while (old != seen);
    atomicAdd(wide, static_cast<unsigned long long>(i) << 32);
    atomicExch(wide + 1, 7ull);
    atomicAdd(real, 0.5f);
}

extern "C" __global__ void votes(const int* x, unsigned* out) {
    const int v = x[threadIdx.x];
    const unsigned even = __ballot_sync(0xffffffff, v % 2 == 0);
    out[threadIdx.x * 4] = even;
    out[threadIdx.x * 4 + 1] = __any_sync(0xffffffff, v > 90) * 2 + __all_sync(0xffffffff, v < 90);
    out[threadIdx.x * 4 + 2] = __shfl_xor_sync(0xffffffff, v, 5);
    out[threadIdx.x * 4 + 3] = __popc(even & ((1u << threadIdx.x % 32) - 1));
}

extern "C" __global__ void halves(const __half* x, __half* out, __nv_bfloat16* brain, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const __half v = x[i];
#if __CUDA_ARCH__ >= 530
    out[i] = __hfma(v, v, __float2half(0.25f));
    out[n + i] = __hdiv(__float2half(1.0f), v);
    out[2 * n + i] = __hgt(v, __float2half(0.0f)) ? hsqrt(v) : __hneg(v);
    reinterpret_cast<__half2*>(out + 3 * n)[i] = __hadd2(__half2half2(v), __floats2half2_rn(1, 2));
#else
    const float f = __half2float(v);
    out[i] = __float2half(f * f + 0.25f);
    out[n + i] = __float2half(1 / f);
    out[2 * n + i] = __float2half(f > 0 ? sqrtf(f) : -f);
    reinterpret_cast<__half2*>(out + 3 * n)[i] = __floats2half2_rn(f + 1, f + 2);
#endif
    brain[i] = __float2bfloat16(__half2float(v) * 3.0f);
}

extern "C" __global__ void functions(const float* x, float* out, double* wide, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float v = x[i];
    const float all[] = {sinf(v),  expf(v),  logf(v),   powf(v, 2.5f),  tanhf(v),  erff(v),
                         v / 3.0f, sqrtf(v), rsqrtf(v), fmodf(v, 0.7f), __expf(v), log1pf(v)};
    for (int k = 0; k < 12; ++k) out[k * n + i] = all[k];
    const double w = v;
    wide[i] = exp(w), wide[n + i] = log(w), wide[2 * n + i] = 1 / w, wide[3 * n + i] = sqrt(w);
}

extern "C" __global__ void integers(const long long* x, const long long* y, long long* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const long long a = x[i], b = y[i];
    const unsigned long long ua = a, ub = b;
    out[i] = a / b, out[n + i] = a % b, out[2 * n + i] = ua / ub, out[3 * n + i] = ua % ub;
    out[4 * n + i] = __mul64hi(a, b), out[5 * n + i] = __clzll(a) * 100 + __popcll(a);
    out[6 * n + i] = __brevll(ua), out[7 * n + i] = static_cast<int>(a) / (static_cast<int>(b) | 1);
}

__constant__ int steps[8] = {1, 1, 2, 3, 5, 8, 13, 21};
__device__ int counted = 5;

__device__ __noinline__ int climb(int n) { return n < 2 ? n : climb(n - 1) + climb(n - 2); }
struct Pair {
    double first;
    int second[3];
};
extern "C" __global__ void calls(int* out, Pair pair) {
    const int t = threadIdx.x;
    int kinds = 0;
    switch (t % 6) {
        case 0:
            kinds = pair.second[0];
            break;
        case 1:
            kinds = static_cast<int>(pair.first * t);
            break;
        case 2:
            kinds = steps[t % 8];
            break;
        case 3:
            kinds = pair.second[t % 3] - t;
            break;
        case 4:
            kinds = counted;
            break;
        default:
            kinds = -t;
    }
    out[t] = climb(t % 8) * 1000 + kinds;
}

extern "C" __global__ void speak(int n) {
    if (threadIdx.x == 0) printf("block %d of %d: %.3f %s\n", blockIdx.x, n, n * 0.5, "done");
}
