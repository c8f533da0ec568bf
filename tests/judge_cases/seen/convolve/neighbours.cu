// The first threads also load the left neighbourhood.
extern "C" __global__ void convolve(const float* x, const float* w, float* y, int n, int taps) {
    __shared__ float tile[256 + 32];
    const int i = blockIdx.x * 256 + threadIdx.x, reach = taps / 2;
    tile[reach + threadIdx.x] = i < n ? x[i] : 0.0f;
    if (threadIdx.x < reach) tile[threadIdx.x] = i >= reach ? x[i - reach] : 0.0f;
    __syncthreads();
    if (i >= n) return;
    float total = 0;
    for (int j = 0; j < taps; ++j) total += w[j] * tile[threadIdx.x + j];
    y[i] = total;
}
