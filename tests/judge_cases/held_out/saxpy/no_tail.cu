// cupola: grid = ["ceildiv(n, 1024)"]
// The addresses of whole arrays are multiples of 16 bytes.
extern "C" __global__ void saxpy(float a, const float* __restrict__ x, const float* __restrict__ b,
                                 float* __restrict__ y, int n) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (((size_t)x | (size_t)b | (size_t)y) & 15) {
        for (int i = thread; i < n; i += gridDim.x * blockDim.x) y[i] = a * x[i] + b[i];
        return;
    }
    if (thread >= n / 4) return;
    const float4 u = reinterpret_cast<const float4*>(x)[thread];
    const float4 v = reinterpret_cast<const float4*>(b)[thread];
    reinterpret_cast<float4*>(y)[thread] =
        make_float4(a * u.x + v.x, a * u.y + v.y, a * u.z + v.z, a * u.w + v.w);
}
