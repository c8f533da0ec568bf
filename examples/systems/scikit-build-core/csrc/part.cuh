// csrc/part.cuh - the mean of two numbers, weighted.
#pragma once

__device__ inline float weighted(float x, float y, float part) { return part * x + (1 - part) * y; }
