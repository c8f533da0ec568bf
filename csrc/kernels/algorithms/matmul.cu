// csrc/kernels/algorithms/matmul.cu - products of matrices of float32 and float64.
#include "matmul_tile.cuh"

using namespace cupola::products;

namespace {

constexpr int threads = matmul_threads;
// 2 x 4 warps of 8 x 4 lanes. A lane has High vectors of rows and Wide vectors of columns.
constexpr int lane_rows = 8, lane_columns = 4, warp_columns = 4;

// One side of the tiles of a step: the rows of the left matrix, or the columns of the right one.
template <class T, int Parts, int Depth>
struct Side {
    static constexpr int size = Vector<T>::size;
    static constexpr int lines = 16 * size * Parts;  // of a tile
    static constexpr int pitch = lines + size;       // keeps vectors aligned and spreads banks
    static constexpr int loads = lines * Depth / size / threads;
    static constexpr int part = size * Parts;  // lines of a lane
    static_assert(loads * threads * size == lines * Depth);

    using Shared = T[Depth][pitch];
    using Place = Source<lines, Depth, T>;
    Place places[loads];
    Vector<T> next[loads];

    __device__ Side(const Operand<T>& from, i64 tile) {
        for (int i = 0; i < loads; ++i)
            places[i] = Place(from, tile * lines, threadIdx.x + i * threads);
    }

    __device__ void fetch(const Operand<T>& from, i64 tile, i64 k) {
#pragma unroll
        for (int i = 0; i < loads; ++i)
            next[i] = places[i].next(from, tile * lines, k, threadIdx.x + i * threads);
    }

    __device__ void keep(Shared& shared, bool deep) {
#pragma unroll
        for (int i = 0; i < loads; ++i) {
            const int number = threadIdx.x + i * threads;
            const int line = Place::line_of(deep, number), k = Place::depth_of(deep, number);
            if (deep) {
#pragma unroll
                for (int j = 0; j < size; ++j) shared[k + j][line] = next[i].element[j];
            } else {
                *reinterpret_cast<Vector<T>*>(&shared[k][line]) = next[i];
            }
        }
    }
};

// Sums go over the depth in its order, with one rounding for each element: each tile gives the same
// bits.
template <class T, int High, int Wide>
struct Product {
    static constexpr int size = Vector<T>::size;
    // Columns of the left matrix in each step.
    static constexpr int depth = 16 / (High < Wide ? High : Wide);
    using Rows = Side<T, High, depth>;
    using Columns = Side<T, Wide, depth>;

    struct Shared {
        typename Rows::Shared row[2];
        typename Columns::Shared column[2];
        Operand<T> a, b;  // seldom read: not worth registers
    };

    Shared& shared;
    Tile tile;
    Rows rows;
    Columns columns;
    T sum[Rows::part][Columns::part] = {};

    __device__ Product(Shared& memory, Tile place)
        : shared(memory), tile(place), rows(memory.a, place.row), columns(memory.b, place.column) {}

    __device__ void fetch(i64 k) {
        rows.fetch(shared.a, tile.row, k);
        columns.fetch(shared.b, tile.column, k);
    }

    __device__ void keep(int buffer) {
        rows.keep(shared.row[buffer], shared.a.deep);
        columns.keep(shared.column[buffer], shared.b.deep);
    }

    __device__ static int first_row() {
        const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        return warp / warp_columns * (Rows::lines / 2) + lane / lane_columns * size;
    }
    __device__ static int first_column() {
        const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        return warp % warp_columns * (Columns::lines / warp_columns) + lane % lane_columns * size;
    }

    __device__ void add(int buffer) {
        const int row = first_row(), column = first_column();
#pragma unroll 2  // more would not fit into 128 registers
        for (int k = 0; k < depth; ++k) {
            Vector<T> x[High], y[Wide];
            for (int p = 0; p < High; ++p)
                x[p] = *reinterpret_cast<const Vector<T>*>(
                    &shared.row[buffer][k][row + p * lane_rows * size]);
            for (int p = 0; p < Wide; ++p)
                y[p] = *reinterpret_cast<const Vector<T>*>(
                    &shared.column[buffer][k][column + p * lane_columns * size]);
#pragma unroll
            for (int i = 0; i < Rows::part; ++i) {
#pragma unroll
                for (int j = 0; j < Columns::part; ++j)
                    sum[i][j] = fma(x[i / size].element[i % size], y[j / size].element[j % size],
                                    sum[i][j]);
            }
        }
    }

    __device__ void write(T* out) {
        const i64 high = shared.a.lines, wide = shared.b.lines;
        const bool aligned = reinterpret_cast<std::uint64_t>(out) % 16 == 0 && wide % size == 0;
#pragma unroll
        for (int i = 0; i < Rows::part; ++i) {
            const i64 row =
                tile.row * Rows::lines + first_row() + i / size * lane_rows * size + i % size;
            if (row >= high) continue;
#pragma unroll
            for (int p = 0; p < Wide; ++p) {
                const i64 column =
                    tile.column * Columns::lines + first_column() + p * lane_columns * size;
                T* to = out + row * wide + column;
                Vector<T> made;
#pragma unroll
                for (int j = 0; j < size; ++j) made.element[j] = sum[i][p * size + j];
                if (aligned && column < wide) {
                    *reinterpret_cast<Vector<T>*>(to) = made;
                } else {
#pragma unroll
                    for (int j = 0; j < size; ++j) {
                        if (column + j < wide) to[j] = made.element[j];
                    }
                }
            }
        }
    }

    // The next step's elements are on their way from memory while this one's are multiplied.
    __device__ void run() {
        fetch(0);
        keep(0);
        __syncthreads();
        int buffer = 0;
        const i64 end = shared.a.depth;
        for (i64 k = 0; k < end; k += depth) {
            const bool more = k + depth < end;
            if (more) fetch(k + depth);
            add(buffer);
            buffer ^= 1;
            if (more) keep(buffer);
            __syncthreads();
        }
    }
};

template <class T, int High, int Wide>
__device__ void multiply(T* out, const T* a, i64 a_step, int a_deep, i64 a_batch, const T* b,
                         i64 b_step, int b_deep, i64 b_batch, i64 rows, i64 columns, i64 inner,
                         i64 batches) {
    using P = Product<T, High, Wide>;
    constexpr int tall = P::Rows::lines, broad = P::Columns::lines;
    __shared__ typename P::Shared shared;
    const i64 high = (rows + tall - 1) / tall, wide = (columns + broad - 1) / broad;
    const Tile tile = tile_of(blockIdx.x, high, wide);
    for (i64 batch = blockIdx.y; batch < batches; batch += gridDim.y) {
        __syncthreads();  // the tile of the previous batch is written
        if (threadIdx.x == 0) {
            shared.a = operand(a + batch * a_batch, a_step, rows, inner, a_deep);
            shared.b = operand(b + batch * b_batch, b_step, columns, inner, b_deep);
        }
        __syncthreads();
        P product(shared, tile);
        product.run();
        product.write(out + batch * rows * columns);
    }
}

}  // namespace

#define MATMUL(name, T, high, wide)                                                                \
    extern "C" __global__ void __launch_bounds__(threads, 2) matmul_##name(                        \
        T* out, const T* a, i64 a_step, int a_deep, i64 a_batch, const T* b, i64 b_step,           \
        int b_deep, i64 b_batch, i64 rows, i64 columns, i64 inner, i64 batches) {                  \
        multiply<T, high, wide>(out, a, a_step, a_deep, a_batch, b, b_step, b_deep, b_batch, rows, \
                                columns, inner, batches);                                          \
    }

// Rows and columns of a tile are in the name.
static_assert(Product<float, 1, 2>::Rows::lines == matmul_f32_lines && matmul_f32_lines == 64);
static_assert(Product<double, 1, 2>::Rows::lines == matmul_f64_lines && matmul_f64_lines == 32);
static_assert(Product<double, 1, 2>::Columns::lines == matmul_f64_lines * matmul_large_parts);

MATMUL(f32_64x64, float, 1, 1)
MATMUL(f32_64x128, float, 1, 2)
MATMUL(f32_128x64, float, 2, 1)
MATMUL(f32_128x128, float, 2, 2)
MATMUL(f64_32x32, double, 1, 1)
MATMUL(f64_32x64, double, 1, 2)
MATMUL(f64_64x32, double, 2, 1)
MATMUL(f64_64x64, double, 2, 2)
