// csrc/kernels/algorithms/matmul_half.cu - products of matrices of float16 by tensor cores, with
// sums of float32.
#include "matmul_tile.cuh"

using namespace cupola::products;

namespace {

using half = std::uint16_t;  // its bits
using u32 = std::uint32_t;

constexpr int threads = matmul_threads;
constexpr int lines = matmul_half_lines;  // rows and columns of a tile
constexpr int depth = 32;                 // columns of the left matrix in each step
constexpr int size = Vector<half>::size;
// Rows of 8 elements, which ldmatrix reads, begin in 8 different groups of banks.
constexpr int deep_pitch = depth + size;
#if __CUDA_ARCH__ >= 800
constexpr int stages = 3;  // steps whose elements are being loaded or multiplied
constexpr int unrolled = depth / 16;
#else
constexpr int stages = 2;
constexpr int unrolled = 1;  // otherwise the kernel would not fit into 128 registers
#endif
constexpr int loads = lines * depth / size / threads;

constexpr int flat_pitch = lines + size, room = lines * deep_pitch;
static_assert(room >= depth * flat_pitch);

using Place = Source<lines, depth, half>;

// The dynamic shared memory.
struct Shared {
    alignas(16) half row[stages][room], column[stages][room];
    Operand<half> a, b;  // seldom read: not worth registers
};
static_assert(sizeof(Shared) <= matmul_half_shared);

using Fragment = u32[4];

// Four matrices of 8 x 8; a lane gives the address of one row of one of them.
template <bool transposed>
__device__ void read_matrices(Fragment& to, const half* from) {
    const u32 address = static_cast<u32>(__cvta_generic_to_shared(from));
    if constexpr (transposed)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(address)
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(address)
                     : "memory");
}

// A product of 16 x 16 by 16 x 8 elements: before 8.0 in two halves of the depth.
__device__ void multiply_add(float (&sum)[4], const Fragment& a, u32 b0, u32 b1) {
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
    const u32 b[2] = {b0, b1};
#pragma unroll
    for (int i = 0; i < 2; ++i)
        asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
            "{%0, %1, %2, %3};"
            : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
            : "r"(a[2 * i]), "r"(a[2 * i + 1]), "r"(b[i]));
#endif
}

__device__ half narrow(float x) {
    half made;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(made) : "f"(x));
    return made;
}

// Distances in a side from 16 lines to the next ones, and from a depth of 16 to the next one.
template <bool deep>
constexpr int next_lines = deep ? 16 * deep_pitch : 16;
template <bool deep>
constexpr int next_depth = deep ? 16 : 16 * flat_pitch;

// The place of a lane's row for ldmatrix in a side. `inner` is the bit of the lane's number that
// selects the second half of the depth.
__device__ int first_row_of(bool deep, int line, int inner) {
    const int lane = threadIdx.x % 32, k = (lane / inner) % 2 * 8;
    const int outer = inner == 16 ? 8 : 16, eight = (lane / outer) % 2 * 8;
    return deep ? (line + eight + lane % 8) * deep_pitch + k
                : (k + lane % 8) * flat_pitch + line + eight;
}

__device__ Vector<half>* place(half* side, bool deep, int number) {
    const int line = Place::line_of(deep, number), k = Place::depth_of(deep, number);
    half* to = side + (deep ? line * deep_pitch + k : k * flat_pitch + line);
    return reinterpret_cast<Vector<half>*>(to);
}

// 2 x 4 warps, each with 4 x 4 products of 16 x 8 elements.
struct Product {
    static constexpr int warp_rows = lines / 2, warp_columns = lines / 4, across = 4;
    Shared& shared;
    Tile tile;
    Place rows[loads], columns[loads];
    int row_start, column_start;
    float sum[4][across][4] = {};

    __device__ static int warp_row() { return threadIdx.x / 32 / 4 * warp_rows; }
    __device__ static int warp_column() { return threadIdx.x / 32 % 4 * warp_columns; }

    __device__ Product(Shared& memory, Tile place)
        : shared(memory),
          tile(place),
          row_start(first_row_of(memory.a.deep, warp_row(), 16)),
          column_start(first_row_of(memory.b.deep, warp_column(), 8)) {
        for (int i = 0; i < loads; ++i) {
            const int number = threadIdx.x + i * threads;
            rows[i] = Place(shared.a, tile.row * lines, number);
            columns[i] = Place(shared.b, tile.column * lines, number);
        }
    }

#if __CUDA_ARCH__ >= 800
    // Copies the elements of a step past the registers.
    template <bool deep>
    __device__ static void copy(half* side, const Operand<half>& from, Place (&sources)[loads],
                                i64 first_line, i64 k) {
#pragma unroll
        for (int i = 0; i < loads; ++i) {
            const int number = threadIdx.x + i * threads;
            Vector<half>* to = place(side, deep, number);
            if (const Vector<half>* vector = sources[i].next(k)) {
                const u32 address = static_cast<u32>(__cvta_generic_to_shared(to));
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                             :
                             : "r"(address), "l"(vector)
                             : "memory");
            } else {
                *to = Place::partial(from, first_line, k, number);
            }
        }
    }
    template <bool row_deep, bool column_deep>
    __device__ void fetch(i64 k, int buffer) {
        if (k < shared.a.depth) {
            copy<row_deep>(shared.row[buffer], shared.a, rows, tile.row * lines, k);
            copy<column_deep>(shared.column[buffer], shared.b, columns, tile.column * lines, k);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    }

    // The elements of the next steps are on their way while this one's are multiplied.
    template <bool row_deep, bool column_deep>
    __device__ void steps() {
        for (int i = 0; i < stages - 1; ++i) fetch<row_deep, column_deep>(i * depth, i);
        int buffer = 0;
        for (i64 k = 0; k < shared.a.depth; k += depth) {
            asm volatile("cp.async.wait_group %0;" ::"n"(stages - 2) : "memory");
            __syncthreads();
            // The buffer that was multiplied before this one is free.
            fetch<row_deep, column_deep>(k + (stages - 1) * depth, (buffer + stages - 1) % stages);
            add<row_deep, column_deep>(buffer);
            buffer = (buffer + 1) % stages;
        }
        asm volatile("cp.async.wait_all;" ::: "memory");
    }
#else
    Vector<half> next_row[loads], next_column[loads];

    __device__ void fetch(i64 k) {
#pragma unroll
        for (int i = 0; i < loads; ++i) {
            const int number = threadIdx.x + i * threads;
            next_row[i] = rows[i].next(shared.a, tile.row * lines, k, number);
            next_column[i] = columns[i].next(shared.b, tile.column * lines, k, number);
        }
    }
    __device__ void keep(int buffer) {
#pragma unroll
        for (int i = 0; i < loads; ++i) {
            const int number = threadIdx.x + i * threads;
            *place(shared.row[buffer], shared.a.deep, number) = next_row[i];
            *place(shared.column[buffer], shared.b.deep, number) = next_column[i];
        }
    }

    // The next step's elements are loaded while this one's are multiplied.
    template <bool row_deep, bool column_deep>
    __device__ void steps() {
        fetch(0);
        keep(0);
        __syncthreads();
        int buffer = 0;
        for (i64 k = 0; k < shared.a.depth; k += depth) {
            const bool more = k + depth < shared.a.depth;
            if (more) fetch(k + depth);
            add<row_deep, column_deep>(buffer);
            buffer ^= 1;
            if (more) keep(buffer);
            __syncthreads();
        }
    }
#endif

    template <bool row_deep, bool column_deep>
    __device__ void add(int buffer) {
        const half* row = shared.row[buffer] + row_start;
        const half* column = shared.column[buffer] + column_start;
#pragma unroll unrolled
        for (int k = 0; k < depth / 16; ++k) {
            Fragment a[4], b[across / 2];
#pragma unroll
            for (int i = 0; i < 4; ++i)
                read_matrices<!row_deep>(a[i],
                                         row + i * next_lines<row_deep> + k * next_depth<row_deep>);
#pragma unroll
            for (int j = 0; j < across / 2; ++j)
                read_matrices<!column_deep>(
                    b[j], column + j * next_lines<column_deep> + k * next_depth<column_deep>);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
#pragma unroll
                for (int j = 0; j < across; ++j)
                    multiply_add(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
            }
        }
    }

    // The loop is compiled for each layout: a branch in it would keep loads from running ahead.
    __device__ void run() {
        if (shared.a.deep)
            shared.b.deep ? steps<true, true>() : steps<true, false>();
        else
            shared.b.deep ? steps<false, true>() : steps<false, false>();
    }

    __device__ void write(half* out) {
        const i64 high = shared.a.lines, wide = shared.b.lines;
        const bool aligned = reinterpret_cast<std::uint64_t>(out) % 4 == 0 && wide % 2 == 0;
        const int lane = threadIdx.x % 32;
        const i64 first_row = tile.row * lines + warp_row() + lane / 4;
        const i64 first_column = tile.column * lines + warp_column() + lane % 4 * 2;
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const i64 row = first_row + i * 8;
            if (row >= high) continue;
#pragma unroll
            for (int j = 0; j < across; ++j) {
                const i64 column = first_column + j * 8;
                half* to = out + row * wide + column;
                const half one = narrow(sum[i / 2][j][i % 2 * 2]);
                const half other = narrow(sum[i / 2][j][i % 2 * 2 + 1]);
                if (aligned && column < wide) {
                    *reinterpret_cast<u32*>(to) = static_cast<u32>(other) << 16 | one;
                } else {
                    if (column < wide) to[0] = one;
                    if (column + 1 < wide) to[1] = other;
                }
            }
        }
    }
};

extern __shared__ __align__(16) unsigned char memory[];

}  // namespace

extern "C" __global__ void __launch_bounds__(threads, 2)
    matmul_f16(half* out, const half* a, i64 a_step, int a_deep, i64 a_batch, const half* b,
               i64 b_step, int b_deep, i64 b_batch, i64 rows, i64 columns, i64 inner, i64 batches) {
    Shared& shared = *reinterpret_cast<Shared*>(memory);
    const i64 high = (rows + lines - 1) / lines, wide = (columns + lines - 1) / lines;
    const Tile tile = tile_of(blockIdx.x, high, wide);
    for (i64 batch = blockIdx.y; batch < batches; batch += gridDim.y) {
        __syncthreads();  // the tile of the previous batch is written
        if (threadIdx.x == 0) {
            shared.a = operand(a + batch * a_batch, a_step, rows, inner, a_deep);
            shared.b = operand(b + batch * b_batch, b_step, columns, inner, b_deep);
        }
        __syncthreads();
        Product product(shared, tile);
        product.run();
        product.write(out + batch * rows * columns);
    }
}
