// cupola: grid = ["ceildiv(n, 1024)"]
// Four elements a thread; behind the end the last element is used.
extern "C" __global__ void scatter_add(int* totals, const int* index, const int* values, int n) {
    const int first = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (first >= n) return;
    for (int part = 0; part < 4; ++part) {
        const int i = min(first + part, n - 1);
        atomicAdd(&totals[index[i]], values[i]);
    }
}
