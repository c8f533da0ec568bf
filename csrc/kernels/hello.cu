// csrc/kernels/hello.cu - a sign of life.
#include <cstdio>

// Prints one line a thread.
extern "C" __global__ void hello() { printf("Hello World From GPU!\n"); }
