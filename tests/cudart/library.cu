// tests/cudart/library.cu - a library of a program that also has other libraries, cupola or the
// driver API in its process.
#include <cuda_runtime.h>

__device__ int count = START;
__managed__ int shared = START;

__global__ void add(int* x, int n, int by) {
    if (threadIdx.x < n) x[threadIdx.x] += by;
}
__global__ void count_up() { shared += ++count; }

// The array is device memory of any library in the process.
extern "C" int add_all(int* x, int n, int by) {
    add<<<1, n>>>(x, n, by);
    return cudaDeviceSynchronize();
}

extern "C" int counted(int* variable, int* managed) {
    count_up<<<1, 1>>>();
    if (const cudaError_t error = cudaMemcpyFromSymbol(variable, count, sizeof count)) return error;
    *managed = shared;
    return cudaSuccess;
}

// A piece of work of its own: memory, a stream, a launch, the sum of what comes back.
extern "C" int sum_of(int value, int* sum) {
    int numbers[32], *there;
    cudaStream_t stream;
    for (int& number : numbers) number = value;
    if (const cudaError_t error = cudaMalloc(&there, sizeof numbers)) return error;
    cudaStreamCreate(&stream);
    cudaMemcpyAsync(there, numbers, sizeof numbers, cudaMemcpyHostToDevice, stream);
    add<<<1, 32, 0, stream>>>(there, 32, 1);
    cudaMemcpyAsync(numbers, there, sizeof numbers, cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
    *sum = 0;
    for (const int number : numbers) *sum += number;
    return cudaFree(there);
}
