// tests/cpu/check/memory.cu - accesses of what is not, or no longer, allocated.
#include "case.cuh"

extern __shared__ int dynamic[];  // 64 words, by the launch

__device__ __forceinline__ int inlined(const int* p, int i) {
    return p[i];  // memory inlined_function
}
__device__ __noinline__ void called(int* p, int i) {
    p[i] = 1;  // memory called_function
}

CASE(past_end, 1, 32) {
    x[tid + 225] = 1;  // memory
}
CASE(up_to_end, 1, 32) { x[tid + 224] = 1; }
CASE(before_begin, 1, 32) {
    y[tid] = x[int(tid) - 1];  // memory
}
CASE(far_away, 2, 32) {
    x[1ull << 40] = 1;  // memory
}
CASE(null_pointer, 1, 1) {
    *reinterpret_cast<int*>(size_t(x[0])) = 1;  // memory
}
CASE(number_as_pointer, 1, 1) {
    y[0] = *reinterpret_cast<int*>(size_t(x[64]));  // memory
}
CASE(after_free, 1, 32) {
    freed[tid] = 1;  // memory
}
CASE(after_free_in_pool, 1, 32) {
    y[tid] = pooled[tid];  // memory
}
CASE(misaligned, 1, 1) {
    y[0] = *reinterpret_cast<int*>(reinterpret_cast<char*>(x) + 2);  // memory
}
CASE(misaligned_vector, 1, 1) {
    *reinterpret_cast<int4*>(x + 1) = make_int4(1, 2, 3, 4);  // memory
}
CASE(aligned_vector, 1, 64) { reinterpret_cast<int4*>(x)[tid] = make_int4(1, 2, 3, 4); }
CASE(vector_over_the_end, 1, 32) {
    reinterpret_cast<int4*>(x)[tid + 33] = make_int4(1, 2, 3, 4);  // memory
}
CASE(shared_beyond, 1, 32) {
    dynamic[x[tid] + 33] = 1;  // memory
}
CASE(shared_within, 1, 32) { dynamic[x[tid] + 32] = 1; }
CASE(shared_before, 1, 32) {
    dynamic[x[tid] - 1] = 1;  // memory
}
CASE(shared_by_generic_pointer, 1, 32) {
    int* p = x[tid] < 0 ? x : dynamic;
    p[x[tid] + 33] = 1;  // memory
}
CASE(local_beyond, 1, 1) {
    int a[4] = {1, 2, 3, 4};
    a[x[200]] = 5;  // memory
    y[0] = a[x[0]];
}
CASE(local_within, 1, 1) {
    int a[4] = {1, 2, 3, 4};
    a[x[3]] = 5;
    y[0] = a[x[0]];
}
CASE(atomic_past_end, 1, 32) {
    atomicAdd(x + 225 + tid, 1);  // memory
}
CASE(loop_once_too_often, 1, 1) {
    for (int i = 0; i <= 256; ++i) x[i] += 1;  // memory
}
CASE(loop, 1, 1) {
    for (int i = 0; i < 256; ++i) x[i] += 1;
}
CASE(inlined_function, 1, 1) {
    y[0] = inlined(x, x[0] + 256);  // memory?
}
CASE(called_function, 1, 1) { called(x, x[0] + 256); }
CASE(asynchronous_copy, 1, 1) {
    const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(dynamic));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(to), "l"(x + 256));  // memory
    asm volatile("cp.async.wait_all;");
}
CASE(asynchronous_copy_within, 1, 1) {
    const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(dynamic));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(to), "l"(x + 252));
    asm volatile("cp.async.wait_all;");
}
