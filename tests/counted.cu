// tests/counted.cu - a kernel with branches that a launch may or may not take.
template <class T>
__device__ T clamped(T x, T limit) {
    if (x > limit) return limit;
    return x;
}

__device__ __noinline__ int fibonacci(int n) {
    if (n < 2) return n;
    return fibonacci(n - 1) + fibonacci(n - 2);
}

extern "C" __global__ void counted(int* x, int n, int rare) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int sum = 0;
    for (int j = 0; j < i; ++j) {
        sum += j & 1 ? j : -j;
    }
    if (rare == i) {
        sum = 1000;
    }
    switch (i & 3) {
        case 0:
            sum += fibonacci(5);
            break;
        case 1:
            sum -= 1;
            break;
        default:
            sum += 2;
    }
    x[i] = clamped(sum, 50) + static_cast<int>(clamped(1.5f * sum, 50.f));
}

extern "C" __global__ void never(int* x) { x[0] = 1; }
