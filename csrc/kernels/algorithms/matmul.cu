// csrc/kernels/algorithms/matmul.cu - products of matrices of float32 and float64.
#include "matmul_tile.cuh"

using namespace cupola::products;

namespace {

constexpr int threads = matmul_threads;
// 2 x 4 warps of 8 x 4 lanes. A lane has Parts x Parts vectors of rows and of columns.
constexpr int lane_rows = 8, lane_columns = 4, warp_columns = 4;

template <class T, int Parts>
struct Product {
    static constexpr int size = Vector<T>::size;
    static constexpr int depth = 16 / Parts;         // columns of the left matrix in each step
    static constexpr int lines = 16 * size * Parts;  // rows and columns of a tile
    static constexpr int pitch = lines + size;       // keeps vectors aligned and spreads banks
    static constexpr int loads = lines * depth / size / threads;
    static constexpr int side = size * Parts;  // rows and columns of a lane's part
    static_assert(loads * threads * size == lines * depth);

    using Side = T[depth][pitch];
    struct Shared {
        Side row[2], column[2];
        Operand<T> a, b;  // seldom read: not worth registers
    };

    Shared& shared;
    Tile tile;
    using Place = Source<lines, depth, T>;
    Place rows[loads], columns[loads];
    Vector<T> next_row[loads], next_column[loads];
    T sum[side][side] = {};

    __device__ Product(Shared& memory, Tile place) : shared(memory), tile(place) {
        for (int i = 0; i < loads; ++i) {
            const int number = threadIdx.x + i * threads;
            rows[i] = Place(shared.a, tile.row * lines, number);
            columns[i] = Place(shared.b, tile.column * lines, number);
        }
    }

    __device__ void fetch(i64 k) {
#pragma unroll
        for (int i = 0; i < loads; ++i) {
            const int number = threadIdx.x + i * threads;
            next_row[i] = rows[i].next(shared.a, tile.row * lines, k, number);
            next_column[i] = columns[i].next(shared.b, tile.column * lines, k, number);
        }
    }

    __device__ static void put(Side& side, const Vector<T>& made, bool deep, int number) {
        const int line = Place::line_of(deep, number), k = Place::depth_of(deep, number);
        if (deep) {
#pragma unroll
            for (int i = 0; i < size; ++i) side[k + i][line] = made.element[i];
        } else {
            *reinterpret_cast<Vector<T>*>(&side[k][line]) = made;
        }
    }

    __device__ void keep(int buffer) {
#pragma unroll
        for (int i = 0; i < loads; ++i) {
            const int number = threadIdx.x + i * threads;
            put(shared.row[buffer], next_row[i], shared.a.deep, number);
            put(shared.column[buffer], next_column[i], shared.b.deep, number);
        }
    }

    __device__ static int first_row() {
        const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        return warp / warp_columns * (lines / 2) + lane / lane_columns * size;
    }
    __device__ static int first_column() {
        const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        return warp % warp_columns * (lines / warp_columns) + lane % lane_columns * size;
    }

    __device__ void add(int buffer) {
        const int row = first_row(), column = first_column();
#pragma unroll 2  // more would not fit into 128 registers
        for (int k = 0; k < depth; ++k) {
            Vector<T> x[Parts], y[Parts];
            for (int p = 0; p < Parts; ++p) {
                x[p] = *reinterpret_cast<const Vector<T>*>(
                    &shared.row[buffer][k][row + p * lane_rows * size]);
                y[p] = *reinterpret_cast<const Vector<T>*>(
                    &shared.column[buffer][k][column + p * lane_columns * size]);
            }
#pragma unroll
            for (int i = 0; i < side; ++i) {
#pragma unroll
                for (int j = 0; j < side; ++j)
                    sum[i][j] = fma(x[i / size].element[i % size], y[j / size].element[j % size],
                                    sum[i][j]);
            }
        }
    }

    __device__ void write(T* out) {
        const i64 high = shared.a.lines, wide = shared.b.lines;
        const bool aligned = reinterpret_cast<std::uint64_t>(out) % 16 == 0 && wide % size == 0;
#pragma unroll
        for (int i = 0; i < side; ++i) {
            const i64 row = tile.row * lines + first_row() + i / size * lane_rows * size + i % size;
            if (row >= high) continue;
#pragma unroll
            for (int p = 0; p < Parts; ++p) {
                const i64 column = tile.column * lines + first_column() + p * lane_columns * size;
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

template <class T, int Parts>
__device__ void multiply(T* out, const T* a, i64 a_step, int a_deep, i64 a_batch, const T* b,
                         i64 b_step, int b_deep, i64 b_batch, i64 rows, i64 columns, i64 inner,
                         i64 batches) {
    using P = Product<T, Parts>;
    __shared__ typename P::Shared shared;
    const i64 high = (rows + P::lines - 1) / P::lines, wide = (columns + P::lines - 1) / P::lines;
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

#define MATMUL(name, T, parts)                                                                \
    extern "C" __global__ void __launch_bounds__(threads, 2) matmul_##name(                   \
        T* out, const T* a, i64 a_step, int a_deep, i64 a_batch, const T* b, i64 b_step,      \
        int b_deep, i64 b_batch, i64 rows, i64 columns, i64 inner, i64 batches) {             \
        multiply<T, parts>(out, a, a_step, a_deep, a_batch, b, b_step, b_deep, b_batch, rows, \
                           columns, inner, batches);                                          \
    }

static_assert(Product<float, 1>::lines == matmul_f32_lines);
static_assert(Product<double, 1>::lines == matmul_f64_lines);
static_assert(Product<double, 2>::lines == matmul_f64_lines * matmul_large_parts);

MATMUL(f32_small, float, 1)
MATMUL(f32_large, float, 2)
MATMUL(f64_small, double, 1)
MATMUL(f64_large, double, 2)
