// cupola: block = [512]
// cupola: shared = 2048
// A tree in dynamic shared memory; the last warp needs no barrier of the block.
extern "C" __global__ void dot(const float* a, const float* b, float* product, int n) {
    extern __shared__ float parts[];
    const int t = threadIdx.x;
    double total = 0;
    for (int i = t; i < n; i += blockDim.x) total += (double)a[i] * b[i];
    parts[t] = (float)total;
    __syncthreads();
    for (int half = blockDim.x / 2; half >= 32; half /= 2) {
        if (t < half) parts[t] += parts[t + half];
        __syncthreads();
    }
    if (t < 32) {
        for (int half = 16; half > 0; half /= 2) {
            const float other = parts[t ^ half];
            __syncwarp();
            parts[t] += other;
            __syncwarp();
        }
        if (t == 0) product[0] = parts[0];
    }
}
