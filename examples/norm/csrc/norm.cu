// csrc/norm.cu - root-mean-square normalization of rows, and its gradient.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int max_warps = 32;
constexpr int kept = 4;  // vectors of 16 bytes that a thread keeps between its two passes

__device__ float to_float(float x) { return x; }
__device__ float to_float(__half x) { return __half2float(x); }
__device__ float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
template <class T>
__device__ T from_float(float x);
template <>
__device__ float from_float<float>(float x) {
    return x;
}
template <>
__device__ __half from_float<__half>(float x) {
    return __float2half_rn(x);
}
template <>
__device__ __nv_bfloat16 from_float<__nv_bfloat16>(float x) {
    return __float2bfloat16_rn(x);
}

// The elements of one load.
template <class T>
struct alignas(16) Vector {
    static constexpr int size = 16 / sizeof(T);
    T at[size];
};

// The sum over the block, in every thread.
__device__ float block_sum(float sum) {
    __shared__ float parts[max_warps];
    for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(~0u, sum, lanes);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
    if (warps == 1) return sum;
    __syncthreads();  // the parts of a sum before this one were read
    if (lane == 0) parts[warp] = sum;
    __syncthreads();
    sum = lane < warps ? parts[lane] : 0;
    for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(~0u, sum, lanes);
    return sum;
}

// y = x * scale * w with scale = 1 / sqrt(mean(x^2) + eps) of each row; one block for a row.
template <class T>
__global__ void __launch_bounds__(256)
    rms_norm(const T* __restrict__ x, const T* __restrict__ w, T* __restrict__ y,
             float* __restrict__ scale, int n, float eps) {
    using Vec = Vector<T>;
    const long long row = blockIdx.x;
    const T* const from = x + row * n;
    T* const to = y + row * n;
    float sum = 0;
    if (n % Vec::size == 0) {  // each row begins at a multiple of 16 bytes
        const Vec* const vectors = reinterpret_cast<const Vec*>(from);
        const int count = n / Vec::size;
        Vec held[kept];
#pragma unroll
        for (int k = 0; k < kept; ++k) {
            const int i = threadIdx.x + k * blockDim.x;
            if (i >= count) break;
            held[k] = vectors[i];
            for (int e = 0; e < Vec::size; ++e) {
                const float value = to_float(held[k].at[e]);
                sum += value * value;
            }
        }
        for (int i = threadIdx.x + kept * blockDim.x; i < count; i += blockDim.x) {
            const Vec vector = vectors[i];
            for (int e = 0; e < Vec::size; ++e) {
                const float value = to_float(vector.at[e]);
                sum += value * value;
            }
        }
        const float factor = rsqrtf(block_sum(sum) / n + eps);
        if (threadIdx.x == 0) scale[row] = factor;
        const Vec* const weights = reinterpret_cast<const Vec*>(w);
        Vec* const results = reinterpret_cast<Vec*>(to);
        const auto finish = [&](Vec vector, int i) {
            const Vec weight = weights[i];
            for (int e = 0; e < Vec::size; ++e)
                vector.at[e] =
                    from_float<T>(to_float(vector.at[e]) * factor * to_float(weight.at[e]));
            results[i] = vector;
        };
#pragma unroll
        for (int k = 0; k < kept; ++k) {
            const int i = threadIdx.x + k * blockDim.x;
            if (i >= count) break;
            finish(held[k], i);
        }
        for (int i = threadIdx.x + kept * blockDim.x; i < count; i += blockDim.x)
            finish(vectors[i], i);
        return;
    }
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        const float value = to_float(from[i]);
        sum += value * value;
    }
    const float factor = rsqrtf(block_sum(sum) / n + eps);
    if (threadIdx.x == 0) scale[row] = factor;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        to[i] = from_float<T>(to_float(from[i]) * factor * to_float(w[i]));
}

// The first `rows` blocks compute grad_x, one row each. The others compute grad_w, 32 columns each,
// of which each warp adds every eighth row. So the sums have one order.
template <class T>
__global__ void __launch_bounds__(256)
    rms_norm_backward(const T* __restrict__ grad_y, const T* __restrict__ x,
                      const T* __restrict__ w, const float* __restrict__ scale,
                      T* __restrict__ grad_x, T* __restrict__ grad_w, long long rows, int n) {
    if (blockIdx.x < rows) {
        const long long begin = static_cast<long long>(blockIdx.x) * n;
        const float factor = scale[blockIdx.x];
        float dot = 0;
        for (int i = threadIdx.x; i < n; i += blockDim.x)
            dot += to_float(grad_y[begin + i]) * to_float(w[i]) * to_float(x[begin + i]);
        const float mean = block_sum(dot) / n * factor * factor;
        for (int i = threadIdx.x; i < n; i += blockDim.x) {
            const float gradient = to_float(grad_y[begin + i]) * to_float(w[i]);
            grad_x[begin + i] = from_float<T>(factor * (gradient - to_float(x[begin + i]) * mean));
        }
        return;
    }
    __shared__ float sums[8][32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const long long column = (blockIdx.x - rows) * 32 + lane;
    float sum = 0;
    if (column < n)
        for (long long row = warp; row < rows; row += 8) {
            const long long at = row * n + column;
            sum += to_float(grad_y[at]) * to_float(x[at]) * scale[row];
        }
    sums[warp][lane] = sum;
    __syncthreads();
    if (warp || column >= n) return;
    for (int other = 1; other < 8; ++other) sum += sums[other][lane];
    grad_w[column] = from_float<T>(sum);
}

#define INSTANCES(T)                                                                               \
    template __global__ void rms_norm(const T*, const T*, T*, float*, int, float);                 \
    template __global__ void rms_norm_backward(const T*, const T*, const T*, const float*, T*, T*, \
                                               long long, int);
INSTANCES(float)
INSTANCES(__half)
INSTANCES(__nv_bfloat16)
