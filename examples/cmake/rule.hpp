// examples/cmake/rule.hpp - who lives in the next generation; for the kernel and for the program.
#pragma once

#ifdef __CUDACC__
#define BOTH __host__ __device__
#else
#define BOTH
#endif

BOTH inline unsigned char lives(const unsigned char* cells, int width, int height, int x, int y) {
    int neighbours = 0;
    for (int dy = height - 1; dy <= height + 1; ++dy)
        for (int dx = width - 1; dx <= width + 1; ++dx)
            neighbours += cells[(y + dy) % height * width + (x + dx) % width];
    const int alive = cells[y * width + x];
    neighbours -= alive;
    return neighbours == 3 || (alive && neighbours == 2);
}
