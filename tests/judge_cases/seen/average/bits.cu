// cupola: grid = ["ceildiv(n, 1024)"]
// Four elements a thread, a block's width apart. The sum of two integers is twice what they have
// in common, and what they differ by.
extern "C" __global__ void average(const int* a, const int* b, int* middle, int n) {
    const int first = blockIdx.x * blockDim.x * 4 + threadIdx.x;
#pragma unroll
    for (int part = 0; part < 4; ++part) {
        const int i = first + part * blockDim.x;
        if (i >= n) return;
        middle[i] = (a[i] & b[i]) + ((a[i] ^ b[i]) >> 1);
    }
}
