// csrc/kernels/hello.cu - prints a line from each thread.
#include <cstdio>

// Prints one line for each thread.
extern "C" __global__ void hello() { printf("Hello World From GPU!\n"); }
