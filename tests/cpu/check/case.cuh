// tests/cpu/check/case.cuh - what every kernel of these files is declared by: CASE(name, blocks,
// threads). A line that a report has to name ends with a comment of its check's name; a kernel
// without one is a healthy one. Memory: `x` holds 0 to 255, `y` has as many words, of which only
// the first 128 were written, `fresh` none; `freed` and `pooled` had as many words and are free.
#pragma once

#define CASE(name, blocks, threads) \
    extern "C" __global__ void name(int* x, int* y, int* fresh, int* freed, int* pooled)

#define tid threadIdx.x
#define bid blockIdx.x
