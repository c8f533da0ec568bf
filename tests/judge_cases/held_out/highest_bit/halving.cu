// cupola: grid = [2]
extern "C" __global__ void highest_bit(const unsigned* x, int* bit, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned value = x[i];
        int found = value == 0 ? -1 : 0;
        for (int width = 16; width > 0; width /= 2) {
            if (value >> width) {
                value >>= width;
                found += width;
            }
        }
        bit[i] = found;
    }
}
