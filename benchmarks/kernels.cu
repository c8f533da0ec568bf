// benchmarks/kernels.cu - the plain way to write each shipped kernel, and Mandelbrot with other
// shortcuts. Compiled by bench_kernels.py and never installed.
#include <cstddef>
#include <cstdint>

#include "csrc/kernels/mandelbrot.cu"

// One element, point or pixel a thread.
extern "C" __global__ void saxpy_plain(float a, const float* x, const float* y, float* out,
                                       std::size_t n) {
    const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < n) out[i] = __fadd_rn(__fmul_rn(a, x[i]), y[i]);
}

extern "C" __global__ void mandelbrot_plain(const float* lattice, float* graph, int iterations,
                                            float bound, int size) {
    const std::size_t point = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    const std::size_t n = size;
    if (point >= n * n) return;
    const std::size_t row = point / n, column = point - row * n;
    const float c_real = lattice[column], c_imag = lattice[n - 1 - row];
    Orbit z;
    float in = 1;
    for (int i = 0; i < iterations; ++i) {
        z.step(c_real, c_imag);
        if (!(z.norm() <= bound)) {
            in = 0;
            break;
        }
    }
    graph[point] = in;
}

__device__ inline float pixel(const float* data, int height, int width, int row, int column,
                              bool clamp) {
    if (clamp) {
        row = min(max(row, 0), height - 1);
        column = min(max(column, 0), width - 1);
    }
    if (row < 0 || row >= height || column < 0 || column >= width) return 0;
    return data[std::size_t{static_cast<unsigned>(row)} * width + column];
}

extern "C" __global__ void convolve_plain(const float* data, const float* filter, float* out,
                                          int height, int width, int size, int border) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= height || column >= width) return;
    float sum = 0;
    for (int i = 0; i < size; ++i)
        for (int j = 0; j < size; ++j) {
            const int down = row + i - size / 2, across = column + j - size / 2;
            const float value = pixel(data, height, width, down, across, border);
            sum = __fadd_rn(sum, __fmul_rn(filter[i * size + j], value));
        }
    out[std::size_t{static_cast<unsigned>(row)} * width + column] = sum;
}

// The shipped kernel without a shortcut: orbits that never leave are followed to the end.
extern "C" __global__ void mandelbrot_full(const float* lattice, float* graph, int iterations,
                                           float bound, int size) {
    picture<Follow>(lattice, graph, iterations, bound, size);
}

// Whether two steps, z0 to z1 to z2, map a disk around z0 into itself. Then the orbit never leaves
// it. A disk of radius r around z goes into one of radius 2|z| r + r^2 around z^2 + c.
// With k = 4 |z0| |z1| and C >= 2 |z1| + 4 |z0|^2 + 2, two steps leave k r + C r^2 at most.
// With r = (1 - k) / 2C the disk holds the orbit if 4 C (|z2 - z0| + roundings) <= (1 - k)^2. Roots
// are spared by 2 |z1| <= 1 + |z1|^2 and k <= (1 + k^2) / 2. The roundings of two steps are below
// 2^-17 here.
struct Trap : Follow {
    static __device__ bool trapped(const Orbit& z0, float norm1, const Orbit& z2) {
        const float norm0 = z0.norm();
        const float t = 0.5f - 8 * (norm0 * norm1);
        const float c = norm1 + 4 * norm0 + 3;
        const float real = z2.real - z0.real, imag = z2.imag - z0.imag;
        const float room = t * t - c * 0x1p-15f;
        return t > 0 && room > 0 && 16 * c * c * (real * real + imag * imag) <= room * room;
    }
};

// The shipped kernel with another shortcut: it knows nothing of where c lies.
extern "C" __global__ void mandelbrot_trap(const float* lattice, float* graph, int iterations,
                                           float bound, int size) {
    picture<Trap>(lattice, graph, iterations, bound, size);
}
