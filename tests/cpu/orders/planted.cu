// tests/cpu/orders/planted.cu - kernels with a mistake that the usual order of the CPU device
// hides.
//
// With FIXED they are right. `data` counts from 0; `out` and `scratch` begin with zeros.
#ifdef FIXED
#define MISSING(...) __VA_ARGS__
#define WRONG(wrong, right) right
#else
#define MISSING(...)
#define WRONG(wrong, right) wrong
#endif
// A kernel and its launch: `blocks` blocks of `threads` threads.
#define CASE(name, blocks, threads) \
    extern "C" __global__ void name(const int* data, int* out, volatile int* scratch)

__device__ void wait_for(volatile int* flag) {
    while (*flag == 0) __nanosleep(20);
    __threadfence();
}
__device__ void set(volatile int* flag) {
    __threadfence();
    *flag = 1;
}

// ---- barriers of the block ----------------------------------------------------------------

CASE(first_warp_stores, 1, 64) {
    __shared__ int s[64];
    const int t = threadIdx.x;
    s[t] = data[t];
    MISSING(__syncthreads();)
    out[t] = s[t % 32];
}

CASE(thread_0_stores, 2, 96) {
    __shared__ volatile int n;
    if (threadIdx.x == 0) n = data[7];
    MISSING(__syncthreads();)
    out[blockIdx.x * 96 + threadIdx.x] = n;
}

CASE(overwritten_while_read, 1, 64) {
    __shared__ int s[64];
    const int t = threadIdx.x;
    s[t] = data[t];
    __syncthreads();
    const int mine = t < 32 ? s[t + 32] : 0;
    MISSING(__syncthreads();)
    if (t >= 32) s[t] = -1;
    out[t] = mine;
}

CASE(zeroed_by_the_first_warp, 1, 128) {
    __shared__ int s[32];
    const int t = threadIdx.x;
    if (t < 32) s[t] = 0;
    MISSING(__syncthreads();)
    atomicAdd(&s[t % 32], 1);
    __syncthreads();
    if (t < 32) out[t] = s[t];
}

CASE(carry_of_the_warp_before, 1, 128) {
    __shared__ int total[4];
    const int warp = threadIdx.x / 32;
    if (threadIdx.x % 32 == 0) total[warp] = data[warp + 1];
    MISSING(__syncthreads();)
    out[threadIdx.x] = warp ? total[warp - 1] : 0;
}

CASE(second_pass_without_barrier, 1, 64) {
    __shared__ int s[64];
    const int t = threadIdx.x;
    s[t] = data[t];
    __syncthreads();
    for (int pass = 0; pass < 2; ++pass) {
        const int other = s[32 + t % 32];
        MISSING(__syncthreads();)
        s[t] = other + 1;
        __syncthreads();
    }
    out[t] = s[t];
}

// ---- lanes of a warp ------------------------------------------------------------------------

CASE(neighbour_in_lockstep, 1, 32) {
    __shared__ volatile int s[32];
    s[threadIdx.x] = data[threadIdx.x];
    MISSING(__syncwarp();)
    out[threadIdx.x] = s[threadIdx.x ^ 1];
}

CASE(reduction_in_lockstep, 1, 32) {
    __shared__ volatile int s[64];
    const int t = threadIdx.x;
    s[t] = data[t];
    s[t + 32] = 0;
    MISSING(__syncwarp();)
    for (int d = 16; d > 0; d /= 2) {
        const int other = s[t + d];
        MISSING(__syncwarp();)
        s[t] += other;
        MISSING(__syncwarp();)
    }
    if (t == 0) out[0] = s[0];
}

CASE(lane_0_stores, 1, 64) {
    __shared__ volatile int s[2];
    const int warp = threadIdx.x / 32;
    if (threadIdx.x % 32 == 0) s[warp] = data[warp + 3];
    MISSING(__syncwarp();)
    out[threadIdx.x] = s[warp];
}

CASE(one_branch_first, 1, 32) {
    __shared__ volatile int s[16];
    const int t = threadIdx.x;
    if (t < 16) {
        MISSING(__syncwarp();)
        out[t] = s[t];
    } else {
        s[t - 16] = data[t];
        MISSING(__syncwarp();)
    }
}

CASE(rejoined_after_a_loop, 1, 32) {
    __shared__ volatile int s[32];
    const int t = threadIdx.x;
    int sum = 0;
    for (int i = 0; i <= t; ++i) sum += data[i];
    s[t] = sum;
    MISSING(__syncwarp();)
    out[t] = s[31 - t];
}

// ---- order of blocks ------------------------------------------------------------------------

CASE(block_0_first, 6, 32) {
    if (blockIdx.x == 0) {
        if (threadIdx.x == 0) scratch[0] = data[9];
        MISSING(if (threadIdx.x == 0) set(&scratch[1]);)
    }
    MISSING(wait_for(&scratch[1]);)
    out[blockIdx.x * 32 + threadIdx.x] = scratch[0];
}

CASE(last_block_last, 6, 1) {
    scratch[blockIdx.x] = data[blockIdx.x];
    MISSING(__threadfence();)
    const bool last =
        WRONG(blockIdx.x == gridDim.x - 1, atomicAdd((int*)&scratch[100], 1) == gridDim.x - 1);
    if (last)
        for (int b = 0; b < gridDim.x; ++b) out[0] += scratch[b];
}

CASE(block_before_first, 8, 1) {
    const int b = blockIdx.x;
    MISSING(if (b > 0) wait_for(&scratch[200 + b - 1]);)
    scratch[b] = (b > 0 ? scratch[b - 1] : 0) + data[b];
    MISSING(set(&scratch[200 + b]);)
    out[b] = scratch[b];
}

CASE(counted_before_stored, 8, 1) {
    WRONG(const int place = atomicAdd((int*)&scratch[100], 1),
          scratch[blockIdx.x] = data[blockIdx.x]);
    MISSING(__threadfence();)
    WRONG(scratch[blockIdx.x] = data[blockIdx.x],
          const int place = atomicAdd((int*)&scratch[100], 1));
    if (place == gridDim.x - 1)
        for (int b = 0; b < gridDim.x; ++b) out[0] += scratch[b];
}

// ---- atomic operations ------------------------------------------------------------------------

CASE(sum_of_blocks, 8, 1) {
    WRONG(scratch[0] = scratch[0] + 1, atomicAdd((int*)&scratch[0], 1));
    if (blockIdx.x == 0) out[0] = 1;
    WRONG(out[1] = scratch[0], atomicMax(&out[1], scratch[0]));
}

CASE(sum_of_warps, 1, 256) {
    __shared__ int s;
    if (threadIdx.x == 0) s = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        WRONG(*(volatile int*)& s += data[threadIdx.x / 32], atomicAdd(&s, data[threadIdx.x / 32]));
    }
    __syncthreads();
    if (threadIdx.x == 0) out[0] = s;
}

CASE(maximum_of_blocks, 8, 1) {
    const int mine = data[(blockIdx.x * 5 + 3) % 8];
    WRONG(if (mine > scratch[0]) scratch[0] = mine, atomicMax((int*)&scratch[0], mine));
    WRONG(out[0] = scratch[0], atomicMax(&out[0], scratch[0]));
}

CASE(list_of_blocks, 8, 1) {
    WRONG(const int at = scratch[0];
          scratch[0] = at + 1, const int at = atomicAdd((int*)&scratch[0], 1));
    out[at] = 1;
}

CASE(test_and_set, 8, 1) {
    const int before = WRONG(scratch[0], atomicExch((int*)&scratch[0], 1));
    WRONG(scratch[0] = 1, ;);
    if (before == 0) atomicAdd(&out[0], 1);
}

CASE(lock_released_too_early, 8, 1) {
    while (atomicCAS((int*)&scratch[0], 0, 1) != 0) __nanosleep(20);
    __threadfence();
    const int sum = scratch[1];
    WRONG(atomicExch((int*)&scratch[0], 0), ;);
    scratch[1] = sum + 1;
    MISSING(__threadfence(); atomicExch((int*)&scratch[0], 0);)
    atomicMax(&out[0], sum + 1);
}

CASE(last_warp_by_a_counter, 1, 256) {
    __shared__ volatile int done;
    if (threadIdx.x == 0) done = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        const int before = WRONG(done, atomicAdd((int*)&done, 1));
        WRONG(done = before + 1, ;);
        if (before == 7) out[0] = 1;
    }
}
