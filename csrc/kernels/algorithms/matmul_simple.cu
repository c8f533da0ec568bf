// csrc/kernels/algorithms/matmul_simple.cu - products of matrices of integers, truth values and
// complex numbers.
#include "../array/types.cuh"
#include "matmul_tile.cuh"

using namespace cupola::products;
using cupola::arrays::Complex;

namespace {

constexpr int threads = matmul_threads, side = 16;  // threads of a row
constexpr int lines = matmul_simple_lines;          // rows, columns and depth of a tile

// Sums of products in a type that wraps around as the elements do.
template <class Sum>
struct Integers {
    Sum sum = 0;
    template <class T>
    __device__ void add(T x, T y) {
        sum += static_cast<Sum>(x) * y;
    }
};
struct Truths {
    std::uint8_t sum = 0;
    __device__ void add(std::uint8_t x, std::uint8_t y) { sum |= x && y; }
};
template <class T>
struct Complexes {
    Complex<T> sum = {};
    __device__ void add(Complex<T> x, Complex<T> y) {
        sum.real = fma(x.real, y.real, fma(-x.imag, y.imag, sum.real));
        sum.imag = fma(x.real, y.imag, fma(x.imag, y.real, sum.imag));
    }
};

template <class T>
using Side = T[lines][lines + 1];  // by depth

template <class T>
__device__ void load_tile(Side<T>& to, const Operand<T>& from, i64 line, i64 k) {
    const int x = threadIdx.x % lines;
    for (int y = threadIdx.x / lines; y < lines; y += threads / lines) {
        if (from.deep)
            to[x][y] = from.at(line + y, k + x);
        else
            to[y][x] = from.at(line + x, k + y);
    }
}

template <class T, class Sum>
__device__ void multiply(T* out, const Operand<T>& a, const Operand<T>& b, Tile tile) {
    __shared__ Side<T> row, column;
    const int i = threadIdx.x / side, j = threadIdx.x % side;
    const i64 first_row = tile.row * lines, first_column = tile.column * lines;
    Sum sums[2][2];
    for (i64 k = 0; k < a.depth; k += lines) {
        load_tile(row, a, first_row, k);
        load_tile(column, b, first_column, k);
        __syncthreads();
        for (int d = 0; d < lines; ++d) {
            const T x[2] = {row[d][i], row[d][i + side]};
            const T y[2] = {column[d][j], column[d][j + side]};
            for (int p = 0; p < 2; ++p)
                for (int q = 0; q < 2; ++q) sums[p][q].add(x[p], y[q]);
        }
        __syncthreads();
    }
    for (int p = 0; p < 2; ++p) {
        for (int q = 0; q < 2; ++q) {
            const i64 r = first_row + i + p * side, c = first_column + j + q * side;
            if (r < a.lines && c < b.lines) out[r * b.lines + c] = static_cast<T>(sums[p][q].sum);
        }
    }
}

}  // namespace

#define MATMUL(name, T, Sum)                                                                    \
    extern "C" __global__ void __launch_bounds__(threads) matmul_##name(                        \
        T* out, const T* a, i64 a_step, int a_deep, i64 a_batch, const T* b, i64 b_step,        \
        int b_deep, i64 b_batch, i64 rows, i64 columns, i64 inner, i64 batches) {               \
        const i64 high = (rows + lines - 1) / lines, wide = (columns + lines - 1) / lines;      \
        for (i64 batch = blockIdx.y; batch < batches; batch += gridDim.y)                       \
            multiply<T, Sum>(out + batch * rows * columns,                                      \
                             {a + batch * a_batch, a_step, rows, inner, a_deep != 0, false},    \
                             {b + batch * b_batch, b_step, columns, inner, b_deep != 0, false}, \
                             tile_of(blockIdx.x, high, wide));                                  \
    }

MATMUL(b8, std::uint8_t, Truths)
MATMUL(i8, std::uint8_t, Integers<std::uint32_t>)
MATMUL(i16, std::uint16_t, Integers<std::uint32_t>)
MATMUL(i32, std::uint32_t, Integers<std::uint32_t>)
MATMUL(i64, std::uint64_t, Integers<std::uint64_t>)
MATMUL(c64, Complex<float>, Complexes<float>)
MATMUL(c128, Complex<double>, Complexes<double>)
