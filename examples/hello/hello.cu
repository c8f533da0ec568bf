// examples/hello/hello.cu - a library with a kernel, and a main that launches it.
//
//     nvcc -shared -Xcompiler -fPIC -o libhello.so hello.cu
#include <cstdio>

__global__ void hello() { printf("Hello from thread %d of block %d\n", threadIdx.x, blockIdx.x); }

int main() {
    hello<<<1, 3>>>();
    const cudaError_t error = cudaDeviceSynchronize();
    if (error != cudaSuccess) std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
