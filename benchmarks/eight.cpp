// benchmarks/eight.cpp - the work of eight.cu as OpenMP loops: what the CPU device is measured
// against. Built with -O3 -march=native -fopenmp.
#include <cmath>
#include <cstring>

extern "C" {

void loop_mandelbrot(float* out, int n, int iterations, int threads) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 8)
    for (int y = 0; y < n; ++y)
        for (int x = 0; x < n; ++x) {
            const float cr = -2.0f + 3.0f * static_cast<float>(x) / static_cast<float>(n);
            const float ci = -1.5f + 3.0f * static_cast<float>(y) / static_cast<float>(n);
            float zr = 0, zi = 0;
            int k = 0;
            for (; k < iterations && zr * zr + zi * zi <= 4.0f; ++k) {
                const float t = zr * zr - zi * zi + cr;
                zi = 2.0f * zr * zi + ci;
                zr = t;
            }
            out[y * n + x] = static_cast<float>(k);
        }
}

void loop_saxpy(const float* x, const float* y, float* out, float a, int n, int threads) {
#pragma omp parallel for num_threads(threads)
    for (int i = 0; i < n; ++i) out[i] = a * x[i] + y[i];
}

void loop_convolution(const float* in, const float* weights, float* out, int n, int threads) {
#pragma omp parallel for num_threads(threads)
    for (int y = 2; y < n - 2; ++y)
        for (int x = 2; x < n - 2; ++x) {
            float sum = 0;
            for (int j = -2; j <= 2; ++j)
                for (int i = -2; i <= 2; ++i)
                    sum += weights[(j + 2) * 5 + i + 2] * in[(y + j) * n + x + i];
            out[y * n + x] = sum;
        }
}

void loop_product(const float* a, const float* b, float* c, int n, int threads) {
#pragma omp parallel for num_threads(threads)
    for (int row = 0; row < n; ++row) {
        std::memset(c + row * n, 0, sizeof(float) * static_cast<unsigned>(n));
        for (int k = 0; k < n; ++k)
            for (int column = 0; column < n; ++column)
                c[row * n + column] += a[row * n + k] * b[k * n + column];
    }
}

void loop_reduction(const float* in, float* out, int n, int threads) {
    float sum = 0;
#pragma omp parallel for simd num_threads(threads) reduction(+ : sum)
    for (int i = 0; i < n; ++i) sum += in[i];
    *out = sum;
}

void loop_histogram(const unsigned* in, unsigned* out, int n, int threads) {
#pragma omp parallel for num_threads(threads) reduction(+ : out[:256])
    for (int i = 0; i < n; ++i) ++out[in[i] & 255];
}

// Blocks of 256 keys, sorted by eight bits at a time: a loop is fastest so.
void loop_radix(const unsigned* in, unsigned* out, int blocks, int threads) {
#pragma omp parallel for num_threads(threads)
    for (int block = 0; block < blocks; ++block) {
        unsigned first[256], second[256];
        std::memcpy(first, in + 256 * block, sizeof first);
        unsigned *from = first, *to = second;
        for (int shift = 0; shift < 32; shift += 8) {
            unsigned place[257] = {};
            for (int i = 0; i < 256; ++i) ++place[(from[i] >> shift & 255) + 1];
            for (int b = 0; b < 256; ++b) place[b + 1] += place[b];
            for (int i = 0; i < 256; ++i) to[place[from[i] >> shift & 255]++] = from[i];
            unsigned* const before = from;
            from = to;
            to = before;
        }
        std::memcpy(out + 256 * block, from, sizeof first);
    }
}

void loop_bodies(const float* in, float* out, int n, int threads) {
#pragma omp parallel for num_threads(threads)
    for (int i = 0; i < n; ++i) {
        const float* me = in + 4 * i;
        float ax = 0, ay = 0, az = 0;
#pragma omp simd reduction(+ : ax, ay, az)
        for (int j = 0; j < n; ++j) {
            const float* it = in + 4 * j;
            const float x = it[0] - me[0], y = it[1] - me[1], z = it[2] - me[2];
            const float inverse = 1.0f / std::sqrt(x * x + y * y + z * z + 1e-3f);
            const float force = it[3] * inverse * inverse * inverse;
            ax += x * force;
            ay += y * force;
            az += z * force;
        }
        out[4 * i] = ax;
        out[4 * i + 1] = ay;
        out[4 * i + 2] = az;
        out[4 * i + 3] = 0;
    }
}
}
