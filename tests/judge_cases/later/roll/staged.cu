// Pieces of a row are copied asynchronously, a piece ahead of the one that is written.
#include <cuda_pipeline.h>

extern "C" __global__ void roll(const int* x, int* y, int rows, int columns, int shift) {
    __shared__ int pieces[2][128];
    const int t = threadIdx.x, count = (columns + 127) / 128;
    if (count == 0) return;
    const int* from = x + (size_t)blockIdx.x * columns;
    int* to = y + (size_t)blockIdx.x * columns;
    const int places = (shift % columns + columns) % columns;
    if (t < columns) __pipeline_memcpy_async(&pieces[0][t], from + t, 4);
    __pipeline_commit();
    for (int piece = 0; piece < count; ++piece) {
        const int next = (piece + 1) * 128 + t;
        if (next < columns) __pipeline_memcpy_async(&pieces[(piece + 1) % 2][t], from + next, 4);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        const int part = 127 - t, c = piece * 128 + part;
        if (c < columns) to[(c + places) % columns] = pieces[piece % 2][part];
        __syncthreads();
    }
}
