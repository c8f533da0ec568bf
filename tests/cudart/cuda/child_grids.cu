// nvcc: -rdc=true -lcudadevrt
//
// Kernels that launch kernels: a reduction by levels, and a search that launches itself as a tail.
// Prints "ok", or the check that failed.
#include "check.cuh"

__global__ void halve(int* values, int count) {
    const int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n < count) values[n] += values[n + count];
}

// The levels are work of one stream, so each level sees the sums of the level before it.
__global__ void reduce(int* values, int count) {
    for (int left = count / 2; left > 0; left /= 2)
        halve<<<(left + 127) / 128, 128>>>(values, left);
}

// Doubles `limit` until the count of smaller values is at least half of all.
__global__ void count_smaller(const int* values, int count, int limit, int* found) {
    const int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n < count && values[n] < limit) atomicAdd(found, 1);
}
__global__ void search(const int* values, int count, int limit, int* found);
__global__ void judge(const int* values, int count, int limit, int* found) {
    if (2 * *found >= count) {
        found[1] = limit;
        return;
    }
    *found = 0;
    search<<<1, 1, 0, cudaStreamTailLaunch>>>(values, count, 2 * limit, found);
}
__global__ void search(const int* values, int count, int limit, int* found) {
    count_smaller<<<(count + 255) / 256, 256>>>(values, count, limit, found);
    judge<<<1, 1, 0, cudaStreamTailLaunch>>>(values, count, limit, found);
}

__global__ void refused(int* error) {
    halve<<<1, 4096>>>(error, 0);
    *error = cudaGetLastError();
}

int main() {
    constexpr int count = 1 << 12;
    int* values = nullptr;
    int* found = nullptr;
    CUDA(cudaMallocManaged(&values, count * sizeof *values));
    CUDA(cudaMallocManaged(&found, 2 * sizeof *found));
    for (int n = 0; n < count; ++n) values[n] = n % 1000;
    int sum = 0, half = 0;
    for (int n = 0; n < count; ++n) sum += values[n];
    found[0] = found[1] = 0;
    search<<<1, 1>>>(values, count, 1, found);
    CUDA(cudaDeviceSynchronize());
    for (int n = 0; n < count; ++n) half += values[n] < found[1];
    CHECK(found[1] == 512 && found[0] == half);
    reduce<<<1, 1>>>(values, count);
    CUDA(cudaDeviceSynchronize());
    CHECK(values[0] == sum);
    refused<<<1, 1>>>(found);
    CUDA(cudaDeviceSynchronize());
    CHECK(found[0] == cudaErrorInvalidConfiguration);
    std::puts("ok");
}
