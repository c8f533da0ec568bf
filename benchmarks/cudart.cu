// benchmarks/cudart.cu - launches by <<<>>>, which bench_cudart.py times with two runtimes.
//
//     cudart first      a kernel's result, then the time is up
//     cudart N          nanoseconds of a launch, the best of ten loops of N
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

__global__ void set(float* x, const float* y, int n, float a, long b) {
    if (threadIdx.x < n) x[threadIdx.x] = a * y[threadIdx.x] + b;
}

#define CHECK(call) \
    if (const cudaError_t error = (call)) return std::printf("%s\n", cudaGetErrorString(error)), 1

int main(int count, char** arguments) {
    float *x, *y, answer = 0;
    CHECK(cudaMalloc(&x, 4));
    CHECK(cudaMalloc(&y, 4));
    CHECK(cudaMemset(y, 0, 4));
    set<<<1, 1>>>(x, y, 1, 2.0f, 5);
    CHECK(cudaMemcpy(&answer, x, 4, cudaMemcpyDeviceToHost));
    if (count > 1 && std::strcmp(arguments[1], "first") == 0)
        return std::printf("%g\n", answer) < 0;
    const int launches = count > 1 ? std::atoi(arguments[1]) : 1000;
    double best = 1e30;
    for (int round = 0; round < 10; ++round) {
        const auto begin = std::chrono::steady_clock::now();
        for (int n = 0; n < launches; ++n) set<<<1, 1>>>(x, y, 1, 2.0f, 5);
        const std::chrono::duration<double, std::nano> took =
            std::chrono::steady_clock::now() - begin;
        CHECK(cudaDeviceSynchronize());
        if (took.count() / launches < best) best = took.count() / launches;
    }
    std::printf("%f\n", best);
    return 0;
}
