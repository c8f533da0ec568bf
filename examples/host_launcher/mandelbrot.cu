// examples/host_launcher/mandelbrot.cu - a kernel with a host launcher, for ctypes or Cython.
//
//     nvcc -shared -Xcompiler -fPIC -o mandelbrot.so mandelbrot.cu
//
// Every call is checked. A program that checks nothing shows garbage where there is no device.
#include <cstdio>

#define CHECK(call)                                                             \
    do {                                                                        \
        const cudaError_t error = (call);                                       \
        if (error != cudaSuccess) {                                             \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error)); \
            return error;                                                       \
        }                                                                       \
    } while (0)

// Steps until the orbit of 0 under z -> z^2 + c leaves the circle of radius 2, at most `limit`.
__global__ void escape(int* steps, int width, int height, double left, double top, double pixel,
                       int limit) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height) return;
    const double c_real = left + column * pixel, c_imaginary = top - row * pixel;
    double real = 0, imaginary = 0;
    int n = 0;
    for (; n < limit && real * real + imaginary * imaginary <= 4; ++n) {
        const double next = real * real - imaginary * imaginary + c_real;
        imaginary = 2 * real * imaginary + c_imaginary;
        real = next;
    }
    steps[row * width + column] = n;
}

// Fills `steps`, height rows of width, and sets the kernel's time. Returns a cudaError_t.
extern "C" int mandelbrot(int* steps, int width, int height, double left, double top, double pixel,
                          int limit, float* milliseconds) {
    const size_t bytes = sizeof(int) * width * height;
    int* device_steps;
    cudaEvent_t begin, end;
    CHECK(cudaMalloc(&device_steps, bytes));
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    const dim3 block(32, 8);
    const dim3 grid((width + block.x - 1) / block.x, (height + block.y - 1) / block.y);
    CHECK(cudaEventRecord(begin));
    escape<<<grid, block>>>(device_steps, width, height, left, top, pixel, limit);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(end));
    CHECK(cudaMemcpy(steps, device_steps, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaEventElapsedTime(milliseconds, begin, end));
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    CHECK(cudaFree(device_steps));
    return cudaSuccess;
}
