// benchmarks/authoring/distance.cuh - the kernels of docs/tutorials/operations.md.
#pragma once

__global__ void distance(const float* points, float* out, int rows, int n) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0;
    for (int i = 0; i < n; ++i) sum += points[row * n + i] * points[row * n + i];
    out[row] = sqrtf(sum);
}

__global__ void distance_backward(const float* grad, const float* points, const float* out,
                                  float* grad_points, int rows, int n) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    for (int i = 0; i < n; ++i)
        grad_points[row * n + i] = grad[row] * points[row * n + i] / out[row];
}
