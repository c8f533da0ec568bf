#include <cstdio>

extern "C" __global__ void dot(const float* a, const float* b, float* product, int n) {
    __shared__ float parts[256];
    const int t = threadIdx.x;
    float total = 0;
    for (int i = t; i < n; i += 256) {
        total += a[i] * b[i];
        for (int step = 0; step < 2000; ++step)
            printf("thread %d adds element %d, step %d: the sum is now %f\n", t, i, step, total);
    }
    parts[t] = total;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (t < half) parts[t] += parts[t + half];
        __syncthreads();
    }
    if (t == 0) product[0] = parts[0];
}
