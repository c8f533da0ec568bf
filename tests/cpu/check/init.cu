// tests/cpu/check/init.cu - reads of what was never written.
#include "case.cuh"

extern __shared__ int dynamic[];
__device__ int zero[64];

CASE(never_written, 1, 32) {
    x[tid] = fresh[tid];  // init
}
CASE(written_by_the_host, 1, 32) { fresh[tid] = x[tid]; }
CASE(half_written, 1, 32) {
    x[tid] = y[tid + 127];  // init
}
CASE(written_half, 1, 32) { x[tid] = y[tid + 96]; }
CASE(own_writes, 1, 32) {
    fresh[tid] = tid;
    x[tid] = fresh[tid];
}
CASE(others_writes, 2, 32) {
    if (bid == 0) fresh[tid] = tid;
    if (bid == 1) x[tid] = fresh[tid + 1];  // init
}
CASE(atomic_counter, 1, 32) {
    atomicAdd(fresh, 1);  // init
}
CASE(atomic_counter_set, 1, 32) {
    if (tid == 0) fresh[0] = 0;
    __syncthreads();
    atomicAdd(fresh, 1);
}
CASE(shared_never_written, 1, 32) {
    __shared__ int s[32];
    if (x[0] != 0) s[tid] = 1;
    __syncthreads();
    x[tid] = s[tid];  // init
}
CASE(shared_written, 1, 32) {
    __shared__ int s[32];
    if (x[0] == 0) s[tid] = 1;
    __syncthreads();
    x[tid] = s[tid];
}
CASE(shared_but_one, 1, 32) {
    __shared__ int s[33];
    s[tid] = x[tid];
    __syncthreads();
    y[tid] = s[tid + 1];  // init
}
CASE(shared_all, 1, 32) {
    __shared__ int s[33];
    s[tid] = x[tid];
    if (tid == 0) s[32] = 0;
    __syncthreads();
    y[tid] = s[tid + 1];
}
CASE(dynamic_never_written, 1, 32) {
    x[tid] = dynamic[tid];  // init
}
CASE(dynamic_written, 1, 32) {
    dynamic[tid] = 1;
    x[tid] = dynamic[tid];
}
CASE(of_the_block_before, 2, 32) {
    __shared__ int s[32];
    if (bid == 0) s[tid] = x[tid];
    __syncthreads();
    y[bid * 32 + tid] = s[tid];  // init
}
CASE(of_each_block, 2, 32) {
    __shared__ int s[32];
    s[tid] = x[tid];
    __syncthreads();
    y[bid * 32 + tid] = s[tid];
}
CASE(vector_but_one, 1, 1) {
    fresh[0] = fresh[1] = fresh[2] = 1;
    const int4 all = __ldcg(reinterpret_cast<const int4*>(fresh));  // init
    x[0] = all.x + all.y + all.z + all.w;
}
CASE(vector, 1, 1) {
    fresh[0] = fresh[1] = fresh[2] = fresh[3] = 1;
    x[0] = reinterpret_cast<const int4*>(fresh)->x;
}
CASE(a_byte_missing, 1, 1) {
    reinterpret_cast<short*>(fresh)[0] = 1;
    reinterpret_cast<char*>(fresh)[2] = 1;
    x[0] = *reinterpret_cast<volatile int*>(fresh);  // init
}
CASE(byte_by_byte, 1, 1) {
    reinterpret_cast<short*>(fresh)[0] = 1;
    reinterpret_cast<char*>(fresh)[2] = 1;
    reinterpret_cast<char*>(fresh)[3] = 1;
    x[0] = *reinterpret_cast<volatile int*>(fresh);
}
CASE(asynchronous_source, 1, 1) {
    const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(dynamic));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(to), "l"(fresh));  // init
}
CASE(asynchronous_copy, 1, 1) {
    const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(dynamic));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(to), "l"(x));
    asm volatile("cp.async.wait_all;" ::: "memory");
    y[0] = dynamic[3];
}
CASE(variable_of_the_module, 1, 32) { x[tid] = zero[tid]; }
CASE(heap_never_written, 1, 1) {
    auto* piece = static_cast<volatile int*>(malloc(64));
    x[0] = piece[9];  // init
    free(const_cast<int*>(piece));
}
CASE(heap_written_by_another, 2, 1) {
    auto* piece = static_cast<volatile int*>(malloc(64));
    if (bid == 0) *piece = 1;
    if (bid == 1) x[0] = *piece;  // init
    free(const_cast<int*>(piece));
}
CASE(heap_written, 2, 1) {
    auto* piece = static_cast<volatile int*>(malloc(64));
    *piece = 1;
    x[bid] = *piece;
    free(const_cast<int*>(piece));
}
