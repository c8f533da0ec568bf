// cupola: grid = ["min(ceildiv(n, 128), 4)"]
// Divides by the whole power of two at once.
extern "C" __global__ void collatz(const unsigned* start, int* steps, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned long long value = start[i];
        int count = 0;
        if (value > 1) {
            for (;;) {
                const int zeros = __ffsll((long long)value) - 1;
                value >>= zeros;
                count += zeros;
                if (value == 1) break;
                value = 3 * value + 1;
                ++count;
            }
        }
        steps[i] = count;
    }
}
