// Keeps the path of each thread.
extern "C" __global__ void collatz(const unsigned* start, int* steps, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long* path = (unsigned long long*)malloc(1024 * sizeof(unsigned long long));
    path[0] = start[i];
    int count = 0;
    while (path[count] > 1) {
        const unsigned long long value = path[count];
        path[++count] = value & 1 ? 3 * value + 1 : value >> 1;
    }
    steps[i] = count;
}
