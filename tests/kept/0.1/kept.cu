// A package's kernels, as version 0.1.0 of cupola builds them.
struct Line { float slope; int offset; };
__constant__ float table[4] = {1, 2, 3, 4};
extern "C" __global__ void line(float* out, Line line, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = line.slope * i + line.offset + table[i % 4];
}
template <class T, int UNROLL> __global__ void scale(T* out, const T* x, T factor, int n) {
    const int first = (blockIdx.x * blockDim.x + threadIdx.x) * UNROLL;
    for (int i = first; i < first + UNROLL && i < n; ++i) out[i] = x[i] * factor;
}
extern "C" __global__ void add(float* out, const float* x, const float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] + y[i];
}
