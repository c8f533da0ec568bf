// examples/cmake/life.cu - Conway's game of life on a torus.
#include "rule.hpp"

// One generation: cells are 0 or 1, rows of `width` bytes; one thread a cell.
extern "C" __global__ void generation(const unsigned char* now, unsigned char* next, int width,
                                      int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) next[y * width + x] = lives(now, width, height, x, y);
}
