// cupola: grid = ["ceildiv(n, 96)"]
// cupola: block = [128]
// The last warp loads the weights, arrives at a named barrier, and ends. The other three warps
// load the signal, and wait at the barrier for all 128 threads.
extern "C" __global__ void convolve(const float* x, const float* w, float* y, int n, int taps) {
    __shared__ float tile[96 + 32];
    __shared__ float weights[33];
    const int t = threadIdx.x;
    if (t >= 96) {
        for (int j = t - 96; j < taps; j += 32) weights[j] = w[j];
        asm volatile("bar.arrive 1, 128;" ::: "memory");
        return;
    }
    const int first = blockIdx.x * 96 - taps / 2;
    for (int k = t; k < 96 + taps - 1; k += 96)
        tile[k] = first + k >= 0 && first + k < n ? x[first + k] : 0.0f;
    asm volatile("bar.sync 1, 128;" ::: "memory");
    const int i = blockIdx.x * 96 + t;
    if (i >= n) return;
    float total = 0;
    for (int j = 0; j < taps; ++j) total = fmaf(weights[j], tile[t + j], total);
    y[i] = total;
}
