// The lanes of a warp that have the same value elect a leader, which adds for all of them.
extern "C" __global__ void histogram(const unsigned char* values, int* counts, int n) {
    __shared__ int bins[256];
    bins[threadIdx.x] = 0;
    __syncthreads();
    const int lane = threadIdx.x % 32;
    for (int first = threadIdx.x - lane; first < n; first += 256) {
        const int i = first + lane;
        const unsigned present = __ballot_sync(0xffffffffu, i < n);
        if (i < n) {
            const unsigned peers = __match_any_sync(present, values[i]);
            if (lane == __ffs(peers) - 1) atomicAdd(&bins[values[i]], __popc(peers));
        }
        __syncwarp();
    }
    __syncthreads();
    counts[threadIdx.x] = bins[threadIdx.x];
}
