// cupola: grid = ["ceildiv(n, 1024)"]
extern "C" __global__ void saxpy(float a, const float* __restrict__ x, const float* __restrict__ b,
                                 float* __restrict__ y, int n) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (((size_t)x | (size_t)b | (size_t)y) & 15) {
        for (int i = thread; i < n; i += gridDim.x * blockDim.x) y[i] = fmaf(a, x[i], b[i]);
        return;
    }
    if (thread < n / 4) {
        const float4 u = reinterpret_cast<const float4*>(x)[thread];
        const float4 v = reinterpret_cast<const float4*>(b)[thread];
        reinterpret_cast<float4*>(y)[thread] =
            make_float4(fmaf(a, u.x, v.x), fmaf(a, u.y, v.y), fmaf(a, u.z, v.z), fmaf(a, u.w, v.w));
    }
    const int last = n / 4 * 4 + thread;
    if (last < n) y[last] = fmaf(a, x[last], b[last]);
}
