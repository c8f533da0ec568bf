// csrc/kernels/algorithms/matmul_half.cu - products of matrices of float16 by tensor cores, with
// sums of float32.
#include "matmul_tile.cuh"

using namespace cupola::products;

namespace {

using half = std::uint16_t;  // its bits
using u32 = std::uint32_t;

constexpr int threads = 256;
constexpr int lines = 128;  // rows and columns of a tile
constexpr int depth = 32;   // of a step
constexpr int size = Vector<half>::size;
constexpr int loads = lines * depth / size / threads;
// 2 x 4 warps, each with 4 x 4 products of 16 x 8 elements.
constexpr int warp_rows = 64, warp_columns = 32;
// Rows of 8 elements, which ldmatrix reads, begin in 8 different groups of banks.
constexpr int deep_pitch = depth + size, flat_pitch = lines + size;
constexpr int room = lines * deep_pitch;
static_assert(room >= depth * flat_pitch);

struct Shared {
    alignas(16) half row[2][room], column[2][room];
    Operand<half> a, b;  // seldom read: not worth registers
};

using Fragment = u32[4];

// Four matrices of 8 x 8; a lane gives the address of one row of one of them.
__device__ void read_matrices(Fragment& to, const half* from, bool transposed) {
    const u32 address = static_cast<u32>(__cvta_generic_to_shared(from));
    if (transposed)
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

// Where a lane's rows for ldmatrix are in a tile, and the distances of the next tiles.
struct Layout {
    int first, next_lines, next_depth;  // 16 lines, a depth of 16
    bool transposed;

    // `inner` is the bit of the lane's number that selects the second half of the depth.
    __device__ Layout(bool deep, int line, int inner) : transposed(!deep) {
        const int lane = threadIdx.x % 32, k = (lane / inner) % 2 * 8;
        const int outer = inner == 16 ? 8 : 16, eight = (lane / outer) % 2 * 8;
        if (deep) {
            first = (line + eight + lane % 8) * deep_pitch + k;
            next_lines = 16 * deep_pitch;
            next_depth = 16;
        } else {
            first = (k + lane % 8) * flat_pitch + line + eight;
            next_lines = 16;
            next_depth = 16 * flat_pitch;
        }
    }
};

struct Product {
    Shared& shared;
    Tile tile;
    using Place = Source<lines, depth, half>;
    Place rows[loads], columns[loads];
    Layout row_layout, column_layout;
    float sum[4][4][4] = {};

    __device__ static int warp_row() { return threadIdx.x / 32 / 4 * warp_rows; }
    __device__ static int warp_column() { return threadIdx.x / 32 % 4 * warp_columns; }

    __device__ Product(Shared& memory, Tile place)
        : shared(memory),
          tile(place),
          row_layout(memory.a.deep, warp_row(), 16),
          column_layout(memory.b.deep, warp_column(), 8) {
        for (int i = 0; i < loads; ++i) {
            const int number = threadIdx.x + i * threads;
            rows[i] = Place(shared.a, tile.row * lines, number);
            columns[i] = Place(shared.b, tile.column * lines, number);
        }
    }

    __device__ static Vector<half>* place(half* side, bool deep, int number) {
        const int line = Place::line_of(deep, number), k = Place::depth_of(deep, number);
        half* to = side + (deep ? line * deep_pitch + k : k * flat_pitch + line);
        return reinterpret_cast<Vector<half>*>(to);
    }

#if __CUDA_ARCH__ >= 800
    __device__ static void copy(half* side, const Operand<half>& from, Place& source,
                                i64 first_line, i64 k, int number) {
        Vector<half>* to = place(side, from.deep, number);
        if (const Vector<half>* vector = source.next(k)) {
            const u32 address = static_cast<u32>(__cvta_generic_to_shared(to));
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                         :
                         : "r"(address), "l"(vector)
                         : "memory");
        } else {
            *to = Place::partial(from, first_line, k, number);
        }
    }

    // Copies the elements of a step past the registers.
    __device__ void fetch(i64 k, int buffer) {
#pragma unroll
        for (int i = 0; i < loads; ++i) {
            const int number = threadIdx.x + i * threads;
            copy(shared.row[buffer], shared.a, rows[i], tile.row * lines, k, number);
            copy(shared.column[buffer], shared.b, columns[i], tile.column * lines, k, number);
        }
    }
    __device__ void keep(int) { asm volatile("cp.async.wait_all;" ::: "memory"); }
#else
    Vector<half> next_row[loads], next_column[loads];

    __device__ void fetch(i64 k, int) {
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
#endif

    __device__ void add(int buffer) {
        const half* row = shared.row[buffer] + row_layout.first;
        const half* column = shared.column[buffer] + column_layout.first;
#pragma unroll 1  // or else it would not fit into 128 registers
        for (int k = 0; k < depth / 16; ++k) {
            Fragment a[4], b[2];
#pragma unroll
            for (int i = 0; i < 4; ++i)
                read_matrices(a[i], row + i * row_layout.next_lines + k * row_layout.next_depth,
                              row_layout.transposed);
#pragma unroll
            for (int j = 0; j < 2; ++j)
                read_matrices(b[j],
                              column + j * column_layout.next_lines + k * column_layout.next_depth,
                              column_layout.transposed);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    multiply_add(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
            }
        }
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
            for (int j = 0; j < 4; ++j) {
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

    // The next step's elements are on their way from memory while this one's are multiplied.
    __device__ void run() {
        fetch(0, 0);
        keep(0);
        __syncthreads();
        int buffer = 0;
        const i64 end = shared.a.depth;
        for (i64 k = 0; k < end; k += depth) {
            const bool more = k + depth < end;
            if (more) fetch(k + depth, buffer ^ 1);
            add(buffer);
            buffer ^= 1;
            if (more) keep(buffer);
            __syncthreads();
        }
    }
};

}  // namespace

extern "C" __global__ void __launch_bounds__(threads, 2)
    matmul_f16(half* out, const half* a, i64 a_step, int a_deep, i64 a_batch, const half* b,
               i64 b_step, int b_deep, i64 b_batch, i64 rows, i64 columns, i64 inner, i64 batches) {
    __shared__ Shared shared;
    const i64 high = (rows + lines - 1) / lines, wide = (columns + lines - 1) / lines;
    const Tile tile = tile_of(blockIdx.x, high, wide);
    for (i64 batch = blockIdx.y; batch < batches; batch += gridDim.y) {
        __syncthreads();  // the one before has been written
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
