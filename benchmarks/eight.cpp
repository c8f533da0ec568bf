// benchmarks/eight.cpp - the work of eight.cu as loops in C++, on one thread or on several.
#include <cmath>
#include <cstring>
#include <thread>
#include <vector>

namespace {

// f(begin, end) over n items in as many threads.
template <class F>
void spread(int n, int threads, F f) {
    if (threads <= 1) return f(0, n);
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
        all.emplace_back([=] {
            f(static_cast<int>(static_cast<long>(n) * t / threads),
              static_cast<int>(static_cast<long>(n) * (t + 1) / threads));
        });
    for (auto& each : all) each.join();
}

}  // namespace

extern "C" {

void loop_mandelbrot(float* out, int n, int iterations, int threads) {
    spread(n, threads, [=](int begin, int end) {
        for (int y = begin; y < end; ++y)
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
    });
}

void loop_saxpy(const float* x, const float* y, float* out, float a, int n, int threads) {
    spread(n, threads, [=](int begin, int end) {
        for (int i = begin; i < end; ++i) out[i] = a * x[i] + y[i];
    });
}

void loop_convolution(const float* in, const float* weights, float* out, int n, int threads) {
    spread(n - 4, threads, [=](int begin, int end) {
        for (int y = begin + 2; y < end + 2; ++y)
            for (int x = 2; x < n - 2; ++x) {
                float sum = 0;
                for (int j = -2; j <= 2; ++j)
                    for (int i = -2; i <= 2; ++i)
                        sum += weights[(j + 2) * 5 + i + 2] * in[(y + j) * n + x + i];
                out[y * n + x] = sum;
            }
    });
}

void loop_product(const float* a, const float* b, float* c, int n, int threads) {
    spread(n, threads, [=](int begin, int end) {
        for (int row = begin; row < end; ++row) {
            std::memset(c + row * n, 0, sizeof(float) * static_cast<unsigned>(n));
            for (int k = 0; k < n; ++k)
                for (int column = 0; column < n; ++column)
                    c[row * n + column] += a[row * n + k] * b[k * n + column];
        }
    });
}

void loop_reduction(const float* in, float* out, int n, int threads) {
    spread(threads, threads, [=](int t, int end) {
        for (; t < end; ++t) {
            float sum = 0;
            const int from = static_cast<int>(static_cast<long>(n) * t / threads);
            const int to = static_cast<int>(static_cast<long>(n) * (t + 1) / threads);
            for (int i = from; i < to; ++i) sum += in[i];
            out[t] = sum;
        }
    });
}

void loop_histogram(const unsigned* in, unsigned* out, int n, int threads) {
    std::vector<unsigned> bins(256u * static_cast<unsigned>(threads));
    unsigned* all = bins.data();
    spread(threads, threads, [=](int t, int end) {
        for (; t < end; ++t) {
            const int from = static_cast<int>(static_cast<long>(n) * t / threads);
            const int to = static_cast<int>(static_cast<long>(n) * (t + 1) / threads);
            for (int i = from; i < to; ++i) ++all[256 * t + static_cast<int>(in[i] & 255)];
        }
    });
    for (int t = 0; t < threads; ++t)
        for (int b = 0; b < 256; ++b) out[b] += all[256 * t + b];
}

// Blocks of 256 keys, a bit at a time, as the kernel does.
void loop_radix(const unsigned* in, unsigned* out, int blocks, int threads) {
    spread(blocks, threads, [=](int begin, int end) {
        unsigned first[256], second[256];
        for (int block = begin; block < end; ++block) {
            std::memcpy(first, in + 256 * block, sizeof first);
            unsigned *from = first, *to = second;
            for (int bit = 0; bit < 32; ++bit) {
                unsigned zeros = 0, ones = 0;
                for (int i = 0; i < 256; ++i) ones += from[i] >> bit & 1;
                ones = 256 - ones;  // where they begin
                for (int i = 0; i < 256; ++i) {
                    const unsigned one = from[i] >> bit & 1;
                    to[one ? ones : zeros] = from[i];
                    ones += one;
                    zeros += 1 - one;
                }
                unsigned* const before = from;
                from = to;
                to = before;
            }
            std::memcpy(out + 256 * block, from, sizeof first);
        }
    });
}

// The same by eight bits at a time, which a loop would rather do.
void loop_radix_by_bytes(const unsigned* in, unsigned* out, int blocks, int threads) {
    spread(blocks, threads, [=](int begin, int end) {
        unsigned first[256], second[256];
        for (int block = begin; block < end; ++block) {
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
    });
}

void loop_bodies(const float* in, float* out, int n, int threads) {
    spread(n, threads, [=](int begin, int end) {
        for (int i = begin; i < end; ++i) {
            const float* me = in + 4 * i;
            float ax = 0, ay = 0, az = 0;
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
    });
}
}
