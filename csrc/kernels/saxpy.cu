// csrc/kernels/saxpy.cu - out = a x + y.
#include <cstdint>

#include "threads.cuh"

namespace {

// Two roundings, like NumPy's a * x + y. An fma would not be faster: the kernel is memory-bound.
__device__ float axpy(float a, float x, float y) { return __fadd_rn(__fmul_rn(a, x), y); }

__device__ std::uintptr_t misalignment(const float* p) {
    return reinterpret_cast<std::uintptr_t>(p) % sizeof(float4);
}

}  // namespace

// Any launch works (threads.cuh). `out` may be x or y itself, but must not overlap them otherwise.
// Each element is used once, so loads and stores bypass the cache. Four elements move at once if
// the three arrays have the same offset from a multiple of 16 bytes.
extern "C" __global__ void saxpy(float a, const float* x, const float* y, float* out,
                                 std::size_t n) {
    const Ranks ranks = launch_ranks();
    const std::uintptr_t off = misalignment(out);
    std::size_t head = n;  // elements before the first group of four
    if (misalignment(x) == off && misalignment(y) == off) {
        head = (sizeof(float4) - off) % sizeof(float4) / sizeof(float);
        head = head < n ? head : n;
    }
    const std::size_t fours = (n - head) / 4;
    const auto* x4 = reinterpret_cast<const float4*>(x + head);
    const auto* y4 = reinterpret_cast<const float4*>(y + head);
    auto* out4 = reinterpret_cast<float4*>(out + head);
    for (std::size_t i = ranks.first; i < fours; i += ranks.stride) {
        const float4 p = __ldcs(x4 + i), q = __ldcs(y4 + i);
        __stcs(out4 + i, make_float4(axpy(a, p.x, q.x), axpy(a, p.y, q.y), axpy(a, p.z, q.z),
                                     axpy(a, p.w, q.w)));
    }
    const std::size_t tail = head + fours * 4;
    const std::size_t singles = head + (n - tail);
    for (std::size_t i = ranks.first; i < singles; i += ranks.stride) {
        const std::size_t at = i < head ? i : tail + (i - head);
        __stcs(out + at, axpy(a, __ldcs(x + at), __ldcs(y + at)));
    }
}
