// benchmarks/cpu_kernels.cpp - the work of cpu_kernels.cu as OpenMP loops: what the CPU device is
// measured against. Built with -O3 -march=native -fopenmp.
#include <algorithm>
#include <cmath>
#include <cstring>

namespace {

float normal_cdf(float d) {
    const float k = 1.0f / (1.0f + 0.2316419f * std::fabs(d));
    const float poly =
        k * (0.31938153f +
             k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    const float tail = 0.39894228f * std::exp(-0.5f * d * d) * poly;
    return d > 0 ? 1.0f - tail : tail;
}

}  // namespace

extern "C" {

void loop_escape_times(int* times, int width, int height, int limit, int threads) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 8)
    for (int row = 0; row < height; ++row)
        for (int column = 0; column < width; ++column) {
            const float cx = -2.2f + 3.2f * static_cast<float>(column) / static_cast<float>(width);
            const float cy = -1.2f + 2.4f * static_cast<float>(row) / static_cast<float>(height);
            float x = 0, y = 0;
            int time = 0;
            while (time < limit) {
                const float xx = x * x, yy = y * y;
                if (xx + yy > 4.0f) break;
                y = 2.0f * x * y + cy;
                x = xx - yy + cx;
                ++time;
            }
            times[row * width + column] = time;
        }
}

void loop_accelerations(const float* px, const float* py, const float* pz, const float* mass,
                        float* out, int n, int threads) {
#pragma omp parallel for num_threads(threads)
    for (int i = 0; i < n; ++i) {
        float ax = 0, ay = 0, az = 0;
#pragma omp simd reduction(+ : ax, ay, az)
        for (int j = 0; j < n; ++j) {
            const float dx = px[j] - px[i], dy = py[j] - py[i], dz = pz[j] - pz[i];
            const float inverse = 1.0f / std::sqrt(dx * dx + dy * dy + dz * dz + 0.01f);
            const float scale = mass[j] * inverse * inverse * inverse;
            ax += scale * dx;
            ay += scale * dy;
            az += scale * dz;
        }
        out[i] = ax;
        out[n + i] = ay;
        out[2 * n + i] = az;
    }
}

void loop_black_scholes(const float* price, const float* strike, const float* years, float* call,
                        float rate, float volatility, int n, int threads) {
#pragma omp parallel for num_threads(threads)
    for (int i = 0; i < n; ++i) {
        const float root = std::sqrt(years[i]);
        const float d1 =
            (std::log(price[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) /
            (volatility * root);
        const float d2 = d1 - volatility * root;
        call[i] =
            price[i] * normal_cdf(d1) - strike[i] * std::exp(-rate * years[i]) * normal_cdf(d2);
    }
}

void loop_saxpy_in_place(float* y, const float* x, float a, int n, int threads) {
#pragma omp parallel for num_threads(threads)
    for (int i = 0; i < n; ++i) y[i] = a * x[i] + y[i];
}

void loop_dot(const float* x, const float* y, float* out, int n, int threads) {
    float sum = 0;
#pragma omp parallel for simd num_threads(threads) reduction(+ : sum)
    for (int i = 0; i < n; ++i) sum += x[i] * y[i];
    *out = sum;
}

void loop_blur(const float* in, const float* weights, float* out, int width, int height,
               int threads) {
#pragma omp parallel for num_threads(threads)
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) {
            float sum = 0;
            for (int j = -1; j <= 1; ++j)
                for (int i = -1; i <= 1; ++i) {
                    const int column = std::clamp(x + i, 0, width - 1);
                    const int row = std::clamp(y + j, 0, height - 1);
                    sum += weights[3 * (j + 1) + i + 1] * in[row * width + column];
                }
            out[y * width + x] = sum;
        }
}

// Transposes blocks of 32 x 32 elements, for the caches.
void loop_transpose(const float* in, float* out, int width, int height, int threads) {
#pragma omp parallel for collapse(2) num_threads(threads)
    for (int top = 0; top < height; top += 32)
        for (int left = 0; left < width; left += 32)
            for (int x = left; x < std::min(left + 32, width); ++x)
                for (int y = top; y < std::min(top + 32, height); ++y)
                    out[x * height + y] = in[y * width + x];
}

void loop_matmul(const float* a, const float* b, float* c, int n, int threads) {
#pragma omp parallel for num_threads(threads)
    for (int row = 0; row < n; ++row) {
        std::memset(c + row * n, 0, sizeof(float) * static_cast<unsigned>(n));
        for (int k = 0; k < n; ++k)
            for (int column = 0; column < n; ++column)
                c[row * n + column] += a[row * n + k] * b[k * n + column];
    }
}

void loop_density(const float* in, int* bins, int n, int threads) {
#pragma omp parallel for num_threads(threads) reduction(+ : bins[:64])
    for (int i = 0; i < n; ++i) ++bins[std::min(static_cast<int>(in[i] * 64.0f), 63)];
}

void loop_byte_histogram(const unsigned char* in, int* bins, int n, int threads) {
#pragma omp parallel for num_threads(threads) reduction(+ : bins[:256])
    for (int i = 0; i < n; ++i) ++bins[in[i]];
}

void loop_jacobi(const float* in, float* out, int width, int height, int threads) {
#pragma omp parallel for num_threads(threads)
    for (int y = 1; y < height - 1; ++y)
        for (int x = 1; x < width - 1; ++x) {
            const int i = y * width + x;
            out[i] = 0.25f * (in[i - 1] + in[i + 1] + in[i - width] + in[i + width]);
        }
}

void loop_sparse_rows(const int* first, const int* columns, const float* values, const float* x,
                      float* y, int rows, int threads) {
#pragma omp parallel for num_threads(threads)
    for (int row = 0; row < rows; ++row) {
        float sum = 0;
        for (int k = first[row]; k < first[row + 1]; ++k) sum += values[k] * x[columns[k]];
        y[row] = sum;
    }
}

void loop_same_colour(const int* first, const int* neighbours, const unsigned char* colours,
                      int* same, int vertices, int threads) {
#pragma omp parallel for num_threads(threads)
    for (int vertex = 0; vertex < vertices; ++vertex) {
        int count = 0;
        for (int k = first[vertex]; k < first[vertex + 1]; ++k)
            count += colours[neighbours[k]] == colours[vertex];
        same[vertex] = count;
    }
}

void loop_scan(const int* in, int* out, int blocks, int threads) {
#pragma omp parallel for num_threads(threads)
    for (int block = 0; block < blocks; ++block) {
        int sum = 0;
        for (int i = 256 * block; i < 256 * block + 256; ++i) out[i] = sum += in[i];
    }
}

void loop_bitonic(const unsigned* in, unsigned* out, int blocks, int threads) {
#pragma omp parallel for num_threads(threads)
    for (int block = 0; block < blocks; ++block) {
        std::memcpy(out + 512 * block, in + 512 * block, 512 * sizeof(unsigned));
        std::sort(out + 512 * block, out + 512 * block + 512);
    }
}
}
