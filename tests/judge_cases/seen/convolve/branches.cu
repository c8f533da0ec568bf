extern "C" __global__ void convolve(const float* x, const float* w, float* y, int n, int taps) {
    __shared__ float tile[256];
    const int t = threadIdx.x, first = blockIdx.x * 256, i = first + t;
    if (i < n) {
        tile[t] = x[i];
        __syncthreads();
        float total = 0;
        for (int j = 0; j < taps; ++j) {
            const int from = i + j - taps / 2, local = from - first;
            if (from < 0 || from >= n) continue;
            total += w[j] * (local >= 0 && local < 256 ? tile[local] : x[from]);
        }
        y[i] = total;
    } else {
        tile[t] = 0;
        __syncthreads();
    }
}
