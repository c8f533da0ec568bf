// benchmarks/access_patterns.cpp - the work of access_patterns.cu as OpenMP loops: what the CPU
// device is measured against. Built with -O3 -march=native -fopenmp.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#ifdef __F16C__
#include <immintrin.h>
#endif

namespace {

using Half = _Float16;

// A row of half numbers as floats, and back. Without F16C, _Float16 converts.
void widen(const Half* in, float* out, int n) {
    int i = 0;
#ifdef __F16C__
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)(in + i))));
#endif
    for (; i < n; ++i) out[i] = static_cast<float>(in[i]);
}

void narrow(const float* in, Half* out, int n) {
    int i = 0;
#ifdef __F16C__
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i*)(out + i), _mm256_cvtps_ph(_mm256_loadu_ps(in + i), 0));
#endif
    for (; i < n; ++i) out[i] = static_cast<Half>(in[i]);
}

// bfloat16 numbers are the upper halves of floats. To the nearest, to even in the middle.
float widen(std::uint16_t bits) {
    const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return value;
}

std::uint16_t narrow(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

std::uint32_t pcg(std::uint64_t& state) {
    const std::uint64_t old = state;
    state = old * 6364136223846793005u + 1442695040888963407u;
    const std::uint32_t mixed = static_cast<std::uint32_t>(((old >> 18) ^ old) >> 27);
    const std::uint32_t turn = static_cast<std::uint32_t>(old >> 59);
    return (mixed >> turn) | (mixed << (-turn & 31));
}

void sort_two(std::uint8_t& a, std::uint8_t& b) {
    const std::uint8_t low = std::min(a, b);
    b = std::max(a, b);
    a = low;
}

std::uint8_t gradient(const std::uint8_t* above, const std::uint8_t* here,
                      const std::uint8_t* below, int left, int x, int right) {
    const int across =
        above[right] + 2 * here[right] + below[right] - above[left] - 2 * here[left] - below[left];
    const int down =
        below[left] + 2 * below[x] + below[right] - above[left] - 2 * above[x] - above[right];
    return static_cast<std::uint8_t>(std::min(std::abs(across) + std::abs(down), 255));
}

}  // namespace

extern "C" {

void loop_stencil_3d(const float* in, float* out, int nx, int ny, int nz, int threads) {
    const int plane = nx * ny;
#pragma omp parallel for collapse(2) num_threads(threads)
    for (int z = 1; z < nz - 1; ++z)
        for (int y = 1; y < ny - 1; ++y)
#pragma omp simd
            for (int i = z * plane + y * nx + 1; i < z * plane + y * nx + nx - 1; ++i) {
                const float sum =
                    in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] + in[i - plane] + in[i + plane];
                out[i] = in[i] + 0.1f * (sum - 6.0f * in[i]);
            }
}

// A tile of 4 x 32 sums stays in registers.
void loop_matmul_blocked(const float* a, const float* b, float* c, int n, int threads) {
#pragma omp parallel for collapse(2) num_threads(threads)
    for (int column = 0; column < n; column += 32)
        for (int row = 0; row < n; row += 4) {
            float sum[4][32] = {};
            for (int k = 0; k < n; ++k)
                for (int i = 0; i < 4; ++i)
#pragma omp simd
                    for (int j = 0; j < 32; ++j)
                        sum[i][j] += a[(row + i) * n + k] * b[k * n + column + j];
            for (int i = 0; i < 4; ++i)
                std::memcpy(c + (row + i) * n + column, sum[i], sizeof sum[i]);
        }
}

// Blocks of 64 rows: their sums stay in a cache, and a column's elements are contiguous.
void loop_sparse_ell(const int* columns, const float* values, const float* x, float* y, int rows,
                     int width, int threads) {
#pragma omp parallel for num_threads(threads)
    for (int begin = 0; begin < rows; begin += 64) {
        const int count = std::min(64, rows - begin);
        float sum[64] = {};
        for (int k = 0; k < width; ++k) {
            const std::size_t at = static_cast<std::size_t>(k) * rows + begin;
#pragma omp simd
            for (int i = 0; i < count; ++i)
                if (columns[at + i] >= 0) sum[i] += values[at + i] * x[columns[at + i]];
        }
        std::memcpy(y + begin, sum, sizeof(float) * count);
    }
}

void loop_monte_carlo(int* hits, int streams, int samples, int threads) {
#pragma omp parallel for num_threads(threads)
    for (int begin = 0; begin < streams; begin += 16) {
        std::uint64_t state[16];
        int count[16] = {};
        for (int i = 0; i < 16; ++i)
            state[i] = 0x853c49e6748fea9bu + 0x9e3779b97f4a7c15u * (begin + i);
        for (int k = 0; k < samples; ++k)
#pragma omp simd
            for (int i = 0; i < 16; ++i) {
                // The shifted value fits an int, and processors convert that type.
                const float x = static_cast<int>(pcg(state[i]) >> 8) * 0x1p-24f;
                const float y = static_cast<int>(pcg(state[i]) >> 8) * 0x1p-24f;
                count[i] += x * x + y * y < 1.0f;
            }
        std::memcpy(hits + begin, count, sizeof(int) * std::min(16, streams - begin));
    }
}

// Stockham's order needs no bit reversal. Real and imaginary parts are apart.
void loop_fft_block(const float* in, const float* twiddles, float* out, int blocks, int threads) {
    constexpr int n = 1024, half = n / 2;
    float cosines[half], sines[half];
    for (int i = 0; i < half; ++i) cosines[i] = twiddles[2 * i], sines[i] = twiddles[2 * i + 1];
#pragma omp parallel for num_threads(threads)
    for (int block = 0; block < blocks; ++block) {
        float real[2][n], imaginary[2][n];
        for (int i = 0; i < n; ++i) {
            real[0][i] = in[2 * (block * n + i)];
            imaginary[0][i] = in[2 * (block * n + i) + 1];
        }
        int at = 0;
        for (int span = half; span > 0; span /= 2, at = 1 - at) {
            const float *r = real[at], *m = imaginary[at];
            float *to_r = real[1 - at], *to_m = imaginary[1 - at];
            for (int j = 0; j < half; j += span) {  // `span` numbers share a factor
                const float cosine = cosines[j], sine = sines[j];
#pragma omp simd
                for (int k = 0; k < span; ++k) {
                    const float x = cosine * r[2 * j + span + k] - sine * m[2 * j + span + k];
                    const float y = cosine * m[2 * j + span + k] + sine * r[2 * j + span + k];
                    to_r[j + k] = r[2 * j + k] + x;
                    to_m[j + k] = m[2 * j + k] + y;
                    to_r[j + k + half] = r[2 * j + k] - x;
                    to_m[j + k + half] = m[2 * j + k] - y;
                }
            }
        }
        for (int i = 0; i < n; ++i) {
            out[2 * (block * n + i)] = real[at][i];
            out[2 * (block * n + i) + 1] = imaginary[at][i];
        }
    }
}

void loop_fft_stage(const float* in, float* out, int n, int span, int threads) {
    std::vector<float> factors(2 * span);
    for (int k = 0; k < span; ++k) {
        const float angle = -3.14159265f * k / span;
        factors[2 * k] = std::cos(angle);
        factors[2 * k + 1] = std::sin(angle);
    }
    const float* const w = factors.data();
#pragma omp parallel for num_threads(threads)
    for (int begin = 0; begin < n / 2; begin += span) {
        const float *a = in + 2 * begin, *b = in + n + 2 * begin;
        float *low = out + 4 * begin, *high = low + 2 * span;
#pragma omp simd
        for (int k = 0; k < 2 * span; k += 2) {
            const float x = w[k] * b[k] - w[k + 1] * b[k + 1];
            const float y = w[k] * b[k + 1] + w[k + 1] * b[k];
            low[k] = a[k] + x;
            low[k + 1] = a[k + 1] + y;
            high[k] = a[k] - x;
            high[k + 1] = a[k + 1] - y;
        }
    }
}

// The panel is turned, so that a column is contiguous.
void loop_lu_panel(float* panels, int count, int threads) {
#pragma omp parallel for num_threads(threads)
    for (int n = 0; n < count; ++n) {
        float* const panel = panels + n * 128 * 16;
        float a[16][128];
        for (int row = 0; row < 128; ++row)
            for (int j = 0; j < 16; ++j) a[j][row] = panel[row * 16 + j];
        for (int k = 0; k < 16; ++k) {
            const float pivot = a[k][k];
            for (int row = k + 1; row < 128; ++row) a[k][row] /= pivot;
            for (int j = k + 1; j < 16; ++j) {
                const float factor = a[j][k];
#pragma omp simd
                for (int row = k + 1; row < 128; ++row) a[j][row] -= a[k][row] * factor;
            }
        }
        for (int row = 0; row < 128; ++row)
            for (int j = 0; j < 16; ++j) panel[row * 16 + j] = a[j][row];
    }
}

void loop_median(const std::uint8_t* in, std::uint8_t* out, int width, int height, int threads) {
#pragma omp parallel for num_threads(threads)
    for (int y = 1; y < height - 1; ++y)
#pragma omp simd
        for (int x = 1; x < width - 1; ++x) {
            const std::uint8_t* at = in + y * width + x;
            std::uint8_t a = at[-width - 1], b = at[-width], c = at[-width + 1], d = at[-1];
            std::uint8_t e = at[0], f = at[1], g = at[width - 1], h = at[width], i = at[width + 1];
            sort_two(b, c), sort_two(a, b), sort_two(b, c);
            sort_two(e, f), sort_two(d, e), sort_two(e, f);
            sort_two(h, i), sort_two(g, h), sort_two(h, i);
            std::uint8_t low = std::max(a, std::max(d, g)), high = std::min(c, std::min(f, i));
            sort_two(e, h);
            std::uint8_t middle = std::min(std::max(b, e), h);
            sort_two(low, middle);
            out[y * width + x] = std::max(low, std::min(middle, high));
        }
}

void loop_sobel(const std::uint8_t* in, std::uint8_t* out, int width, int height, int threads) {
#pragma omp parallel for num_threads(threads)
    for (int y = 0; y < height; ++y) {
        const std::uint8_t* above = in + std::max(y - 1, 0) * width;
        const std::uint8_t* here = in + y * width;
        const std::uint8_t* below = in + std::min(y + 1, height - 1) * width;
        std::uint8_t* to = out + y * width;
        to[0] = gradient(above, here, below, 0, 0, 1);
#pragma omp simd
        for (int x = 1; x < width - 1; ++x) to[x] = gradient(above, here, below, x - 1, x, x + 1);
        to[width - 1] = gradient(above, here, below, width - 2, width - 1, width - 1);
    }
}

void loop_bfs_level(const int* first, const int* neighbours, int* distance, int vertices, int level,
                    int threads) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1024)
    for (int v = 0; v < vertices; ++v) {
        if (distance[v] != level - 1) continue;
        for (int k = first[v]; k < first[v + 1]; ++k)
            if (distance[neighbours[k]] < 0) distance[neighbours[k]] = level;
    }
}

// A thread collects its vertices, and appends them once.
void loop_bfs_frontier(const int* first, const int* neighbours, const int* frontier, int size,
                       int* next, int* next_size, int* distance, int level, int threads) {
#pragma omp parallel num_threads(threads)
    {
        std::vector<int> own;
#pragma omp for schedule(dynamic, 1024)
        for (int i = 0; i < size; ++i)
            for (int k = first[frontier[i]]; k < first[frontier[i] + 1]; ++k) {
                int* const seen = distance + neighbours[k];
                int unseen = -1;
                if (*seen < 0 && __atomic_compare_exchange_n(seen, &unseen, level, false,
                                                             __ATOMIC_RELAXED, __ATOMIC_RELAXED))
                    own.push_back(neighbours[k]);
            }
        const int count = static_cast<int>(own.size());
        std::copy(own.begin(), own.end(),
                  next + __atomic_fetch_add(next_size, count, __ATOMIC_RELAXED));
    }
}

// 256 positions at a time: all bytes of the pattern are compared, without a branch.
void loop_find_pattern(const char* text, long long size, const char* pattern, int length,
                       std::uint8_t* found, int threads) {
    const long long end = size - length + 1;
#pragma omp parallel for num_threads(threads)
    for (long long begin = 0; begin < end; begin += 256) {
        const int count = static_cast<int>(std::min(256ll, end - begin));
        std::uint8_t same[256];
        std::memset(same, 1, sizeof same);
        for (int k = 0; k < length; ++k) {
            const char* const at = text + begin + k;
#pragma omp simd
            for (int i = 0; i < count; ++i) same[i] &= at[i] == pattern[k];
        }
        std::memcpy(found + begin, same, count);
    }
}

void loop_half_axpy(const Half* x, Half* y, float a, int pairs, int threads) {
#pragma omp parallel for num_threads(threads)
    for (int begin = 0; begin < 2 * pairs; begin += 256) {
        const int count = std::min(256, 2 * pairs - begin);
        const float factor = static_cast<float>(static_cast<Half>(a));
        float left[256], right[256];
        widen(x + begin, left, count);
        widen(y + begin, right, count);
        for (int i = 0; i < count; ++i) right[i] += factor * left[i];
        narrow(right, y + begin, count);
    }
}

void loop_layer_norm(const Half* in, const float* gain, const float* bias, Half* out, int columns,
                     int rows, int threads) {
#pragma omp parallel num_threads(threads)
    {
        std::vector<float> values(columns);
        float* const row = values.data();
#pragma omp for
        for (int n = 0; n < rows; ++n) {
            widen(in + static_cast<std::size_t>(n) * columns, row, columns);
            float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
            for (int i = 0; i < columns; ++i) sum += row[i];
            const float mean = sum / columns;
#pragma omp simd reduction(+ : squares)
            for (int i = 0; i < columns; ++i) squares += (row[i] - mean) * (row[i] - mean);
            const float scale = 1.0f / std::sqrt(squares / columns + 1e-5f);
            for (int i = 0; i < columns; ++i) row[i] = (row[i] - mean) * scale * gain[i] + bias[i];
            narrow(row, out + static_cast<std::size_t>(n) * columns, columns);
        }
    }
}

void loop_softmax_bf16(const std::uint16_t* in, std::uint16_t* out, int rows, int columns,
                       int threads) {
#pragma omp parallel num_threads(threads)
    {
        std::vector<float> values(columns);
        float* const row = values.data();
#pragma omp for
        for (int n = 0; n < rows; ++n) {
            const std::uint16_t* from = in + static_cast<std::size_t>(n) * columns;
            std::uint16_t* to = out + static_cast<std::size_t>(n) * columns;
            float largest = -INFINITY, sum = 0;
#pragma omp simd reduction(max : largest)
            for (int i = 0; i < columns; ++i) {
                row[i] = widen(from[i]);
                largest = largest > row[i] ? largest : row[i];
            }
            for (int i = 0; i < columns; ++i) row[i] = std::exp(row[i] - largest);
#pragma omp simd reduction(+ : sum)
            for (int i = 0; i < columns; ++i) sum += row[i];
#pragma omp simd
            for (int i = 0; i < columns; ++i) to[i] = narrow(row[i] / sum);
        }
    }
}

void loop_row_sums(const float* in, float* out, int rows, int columns, int threads) {
#pragma omp parallel for num_threads(threads)
    for (int row = 0; row < rows; ++row) {
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int i = 0; i < columns; ++i) sum += in[row * columns + i];
        out[row] = sum;
    }
}

void loop_tile_sums(const int* in, int* out, int segments, int threads) {
#pragma omp parallel for num_threads(threads)
    for (int segment = 0; segment < segments; ++segment) {
        int sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int i = 0; i < 64; ++i) sum += in[segment * 64 + i];
        out[segment] = sum;
    }
}

void loop_heat_steps(float* rod, float* other, int n, int steps, int threads) {
#pragma omp parallel num_threads(threads)
    {
        float *from = rod, *to = other;
        for (int step = 0; step < steps; ++step) {
#pragma omp for simd
            for (int i = 1; i < n - 1; ++i)
                to[i] = from[i] + 0.25f * (from[i - 1] - 2.0f * from[i] + from[i + 1]);
#pragma omp single
            to[0] = from[0], to[n - 1] = from[n - 1];
            std::swap(from, to);
        }
    }
}

void loop_permute(const float* in, const int* index, float* out, int n, int threads) {
#pragma omp parallel for simd num_threads(threads)
    for (int i = 0; i < n; ++i) out[i] = in[index[i]];
}

void loop_few_bins(const unsigned* in, unsigned* bins, int n, int threads) {
#pragma omp parallel for num_threads(threads) reduction(+ : bins[:8])
    for (int i = 0; i < n; ++i) ++bins[in[i] % 8];
}
}
