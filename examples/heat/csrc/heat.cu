// csrc/heat.cu - the heat equation on a plate whose border keeps its temperature.
#include "region.cuh"

// The point inside at `at` after a step: it gives to its four neighbours, and takes from them.
template <typename T>
__device__ T stepped(const T* __restrict__ now, long long at, int columns, T rate) {
    const T around = (now[at - columns] + now[at + columns]) + (now[at - 1] + now[at + 1]);
    return now[at] + rate * (around - T(4) * now[at]);
}

// One step of time: each point inside gives and takes from its four neighbours. `rate` is the
// plate's diffusivity times the step over the square of the points' distance; up to 1/4.
template <typename T>
__global__ void advance(T* __restrict__ next, const T* __restrict__ now, int rows, int columns,
                        T rate) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows || column >= columns) return;
    const long long at = static_cast<long long>(row) * columns + column;
    const T here = now[at];
    if (row == 0 || column == 0 || row == rows - 1 || column == columns - 1) {
        next[at] = here;
        return;
    }
    next[at] = stepped(now, at, columns, rate);
}
template __global__ void advance<float>(float*, const float*, int, int, float);
template __global__ void advance<double>(double*, const double*, int, int, double);

// The same step for `rows` rows from `first` on: memory has a row above and below each of them.
template <typename T>
__global__ void advance_rows(T* __restrict__ next, const T* __restrict__ now, int first, int rows,
                             int columns, T rate) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows || column >= columns) return;
    const long long at = static_cast<long long>(first + row) * columns + column;
    const bool inside = column > 0 && column < columns - 1;
    next[at] = inside ? stepped(now, at, columns, rate) : now[at];
}
template __global__ void advance_rows<float>(float*, const float*, int, int, int, float);
template __global__ void advance_rows<double>(double*, const double*, int, int, int, double);

// The gradient of `now` by that of `next`: each point gives to its neighbours inside and to itself.
template <typename T>
__global__ void advance_backward(T* __restrict__ grad_now, const T* __restrict__ grad_next,
                                 int rows, int columns, T rate) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows || column >= columns) return;
    const long long at = static_cast<long long>(row) * columns + column;
    const auto inside = [&](int r, int c) {
        return r > 0 && c > 0 && r < rows - 1 && c < columns - 1;
    };
    const auto from = [&](int r, int c, long long p) { return inside(r, c) ? grad_next[p] : T(0); };
    const T around = (from(row - 1, column, at - columns) + from(row + 1, column, at + columns)) +
                     (from(row, column - 1, at - 1) + from(row, column + 1, at + 1));
    const T here = grad_next[at];
    grad_now[at] = here + rate * (inside(row, column) ? around - T(4) * here : around);
}
template __global__ void advance_backward<float>(float*, const float*, int, int, float);
template __global__ void advance_backward<double>(double*, const double*, int, int, double);

// Sums of the temperatures in a region, one for each block of threads: block b has its rows
// b, b + gridDim.x, ... Shared memory has a double for each thread, of which there are 2^n.
template <typename T>
__global__ void measure(double* sums, const T* plate, int columns, Region region) {
    extern __shared__ double partial[];
    double sum = 0;
    for (int row = blockIdx.x; row < region.rows; row += gridDim.x) {
        const long long first = static_cast<long long>(region.row + row) * columns + region.column;
        for (int i = threadIdx.x; i < region.columns; i += blockDim.x) sum += plate[first + i];
    }
    partial[threadIdx.x] = sum;
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}
template __global__ void measure<float>(double*, const float*, int, Region);
template __global__ void measure<double>(double*, const double*, int, Region);
