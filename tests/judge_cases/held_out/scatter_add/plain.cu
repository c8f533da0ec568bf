extern "C" __global__ void scatter_add(int* totals, const int* index, const int* values, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) totals[index[i]] += values[i];
}
