// A state has the sum of a tile and a flag in 64 bits: 1 for the tile alone, 2 for all before it,
// too.
__device__ unsigned block_scan(unsigned value) {
    __shared__ unsigned totals[4];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int offset = 1; offset < 32; offset *= 2) {
        const unsigned other = __shfl_up_sync(0xffffffffu, value, offset);
        if (lane >= offset) value += other;
    }
    if (lane == 31) totals[warp] = value;
    __syncthreads();
    for (int other = 0; other < warp; ++other) value += totals[other];
    return value;
}

// The last block to end clears the states for the next launch.
__device__ void clear(unsigned* tickets, unsigned long long* states, int tiles) {
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(&tickets[1], 1u) == tiles - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    for (int i = threadIdx.x; i < tiles; i += blockDim.x) states[i] = 0;
    if (threadIdx.x < 2) tickets[threadIdx.x] = 0;
}

extern "C" __global__ void tile_scan(const unsigned* x, unsigned* tickets,
                                     unsigned long long* states, unsigned* y, int tiles) {
    __shared__ unsigned ticket, carry;
    if (threadIdx.x == 0) ticket = atomicAdd(&tickets[0], 1u);
    __syncthreads();
    const int tile = ticket;
    const unsigned sum = block_scan(x[tile * 128 + threadIdx.x]);
    if (threadIdx.x == 127) {
        atomicExch(&states[tile], (tile == 0 ? 2ull << 32 : 1ull << 32) | sum);
        unsigned before = 0;
        for (int other = tile - 1; other >= 0; --other) {
            unsigned long long state;
            do {
                state = atomicAdd(&states[other], 0ull);
            } while (state == 0);
            before += (unsigned)state;
            if (state >> 32 == 2) break;
        }
        if (tile > 0) atomicExch(&states[tile], (2ull << 32) | (unsigned)(before + sum));
        carry = before;
    }
    __syncthreads();
    y[tile * 128 + threadIdx.x] = carry + sum;
    clear(tickets, states, tiles);
}
