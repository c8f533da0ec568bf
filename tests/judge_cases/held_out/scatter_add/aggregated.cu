// The lanes with the same index add their values before one of them adds to memory.
extern "C" __global__ void scatter_add(int* totals, const int* index, const int* values, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned present = __ballot_sync(0xffffffffu, i < n);
    if (i >= n) return;
    const unsigned peers = __match_any_sync(present, index[i]);
    const int sum = (int)__reduce_add_sync(peers, (unsigned)values[i]);
    if (threadIdx.x % 32 == __ffs(peers) - 1) atomicAdd(&totals[index[i]], sum);
}
