// tests/ptx/toolkit/random.cu - curand's generators on the device, and CUDA C++'s atomics.
#include <curand_kernel.h>

#include <cuda/atomic>

template <class State>
__device__ void draw(unsigned* out, int count, unsigned long long seed) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    State state;
    curand_init(seed, thread, 0, &state);
    for (int n = 0; n < count; ++n) out[thread * count + n] = curand(&state);
}
extern "C" __global__ void philox(unsigned* out, int count, unsigned long long seed) {
    draw<curandStatePhilox4_32_10_t>(out, count, seed);
}
extern "C" __global__ void xorwow(unsigned* out, int count, unsigned long long seed) {
    draw<curandStateXORWOW_t>(out, count, seed);
}
extern "C" __global__ void mrg(unsigned* out, int count, unsigned long long seed) {
    draw<curandStateMRG32k3a_t>(out, count, seed);
}
// Distributions that follow from the integers of the same state.
extern "C" __global__ void distributions(float* uniform, float* normal, double* wide, int count) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    curandStatePhilox4_32_10_t state;
    curand_init(42, thread, 0, &state);
    for (int n = 0; n < count; ++n) uniform[thread * count + n] = curand_uniform(&state);
    curand_init(42, thread, 0, &state);
    for (int n = 0; n < count; ++n) normal[thread * count + n] = curand_normal(&state);
    curand_init(42, thread, 0, &state);
    for (int n = 0; n < count; ++n) wide[thread * count + n] = curand_uniform_double(&state);
}

using Block = cuda::atomic<int, cuda::thread_scope_block>;
extern "C" __global__ void atomics(int* out, double* sum) {
    __shared__ Block cell;
    if (threadIdx.x == 0) new (&cell) Block(0);
    __syncthreads();
    cell.fetch_add(1, cuda::memory_order_relaxed);
    cuda::atomic_ref<int, cuda::thread_scope_device> all(out[0]), most(out[1]), bits(out[2]);
    all.fetch_add(2);
    most.fetch_max(int(blockIdx.x * blockDim.x + threadIdx.x));
    bits.fetch_xor(1 << threadIdx.x % 31, cuda::memory_order_acq_rel);
    cuda::atomic_ref<double, cuda::thread_scope_device>(*sum).fetch_add(0.5);
    int expected = 7;
    if (cuda::atomic_ref<int, cuda::thread_scope_system>(out[3]).compare_exchange_strong(expected,
                                                                                         9))
        out[4] = expected;
    __syncthreads();
    if (threadIdx.x == 0) out[5 + blockIdx.x] = cell.load();
}

// A word goes from thread to thread of a block: each thread waits for the thread before it.
extern "C" __global__ void chain(int* out) {
    __shared__ Block turn;
    if (threadIdx.x == 0) new (&turn) Block(0);
    __syncthreads();
    const int mine = (threadIdx.x * 37) % blockDim.x;
    for (int now = turn.load(); now != mine; now = turn.load()) turn.wait(now);
    out[mine] = threadIdx.x;
    turn.store(mine + 1);
    turn.notify_all();
}
