// tests/pipeline.cu - kernels for tests of pipelines: of rows, and such that fail in one chunk.

// A thread a row: weighted sums of (n, width), of which `mask` says whether, and two counts a row.
extern "C" __global__ void rows(const float* x, const unsigned char* mask, const float* weights,
                                double* sums, short* counts, int n, int width, long long start) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    double sum = 0;
    short positive = 0;
    for (int i = 0; i < width; ++i) {
        const float value = x[static_cast<long long>(row) * width + i];
        sum = __dadd_rn(sum, __dmul_rn(value, weights[i]));
        positive += value > 0;
    }
    sums[row] = mask[row] ? sum : -1.0;
    counts[2 * row] = positive;
    counts[2 * row + 1] = static_cast<short>((start + row) % 1000);
}

extern "C" __global__ void add(const int* x, int* out, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] + 1;
}

extern "C" __global__ void add_in_place(int* x, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += 1;
}

// Writes to address 16 in the chunk that has the bad row.
extern "C" __global__ void fault(const int* x, int* out, long long start, int n, long long bad) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (start + i == bad) *reinterpret_cast<int*>(16) = 1;
    out[i] = x[i] + 1;
}
