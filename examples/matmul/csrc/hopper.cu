// csrc/hopper.cu - a matrix product with the instructions of compute capability 9.0a alone.
//
// The tensor copy engine brings boxes of 64 x 64 halves to shared memory, swizzled in 128 bytes.
// A warpgroup multiplies them from there (wgmma), and sums in float32.
#include <cuda.h>
#include <cuda_fp16.h>
#include <cuda/barrier>
#include <cuda/ptx>

namespace ptx = cuda::ptx;
using barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int tile = 64;      // rows and columns of a box
constexpr int stages = 4;     // boxes of each matrix in shared memory
constexpr int threads = 128;  // a warpgroup

struct Boxes {
    alignas(1024) __half a[stages][tile * tile];
    alignas(1024) __half b[stages][tile * tile];
};

// A descriptor of a box: rows of 128 bytes, groups of 8 rows 1024 bytes apart, swizzled in 128.
__device__ unsigned long long descriptor(const __half* box) {
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(box));
    return (address & 0x3ffff) >> 4 | 1ull << 16 | 1024ull / 16 << 32 | 1ull << 62;
}

// sum += a * b^T, for 64 x 16 of a and 64 x 16 of b.
__device__ void multiply(float (&sum)[32], unsigned long long a, unsigned long long b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, "
        "%19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
        "%32, %33, 1, 1, 1, 0, 0;"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]),
          "+f"(sum[6]), "+f"(sum[7]), "+f"(sum[8]), "+f"(sum[9]), "+f"(sum[10]), "+f"(sum[11]),
          "+f"(sum[12]), "+f"(sum[13]), "+f"(sum[14]), "+f"(sum[15]), "+f"(sum[16]), "+f"(sum[17]),
          "+f"(sum[18]), "+f"(sum[19]), "+f"(sum[20]), "+f"(sum[21]), "+f"(sum[22]), "+f"(sum[23]),
          "+f"(sum[24]), "+f"(sum[25]), "+f"(sum[26]), "+f"(sum[27]), "+f"(sum[28]), "+f"(sum[29]),
          "+f"(sum[30]), "+f"(sum[31])
        : "l"(a), "l"(b));
}

// c = a * b^T. `a` has the rows of c, `b` its columns; both have `depth` halves in a row.
extern "C" __global__ void __launch_bounds__(threads)
    product_hopper(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
                   float* c, int rows, int columns, int depth) {
    extern __shared__ unsigned char memory[];
    const auto start = reinterpret_cast<unsigned long long>(memory);
    Boxes& boxes = *reinterpret_cast<Boxes*>((start + 1023) / 1024 * 1024);
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ barrier loaded[stages];
    const int row = blockIdx.y * tile, column = blockIdx.x * tile;
    const int steps = (depth + tile - 1) / tile;
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < stages; ++stage) init(&loaded[stage], 1);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();

    const auto load = [&](int step) {
        const int stage = step % stages;
        const int corner_a[2] = {step * tile, row}, corner_b[2] = {step * tile, column};
        auto* bar = cuda::device::barrier_native_handle(loaded[stage]);
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, boxes.a[stage], &a,
                                  corner_a, bar);
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, boxes.b[stage], &b,
                                  corner_b, bar);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, bar,
                                       2 * sizeof boxes.a[0]);
    };
    if (threadIdx.x == 0)
        for (int step = 0; step < min(stages - 1, steps); ++step) load(step);

    float sum[32] = {};
    for (int step = 0; step < steps; ++step) {
        // All warps have read the boxes of the step before, which the next load overwrites.
        __syncthreads();
        if (threadIdx.x == 0 && step + stages - 1 < steps) load(step + stages - 1);
        const int stage = step % stages;
        auto* bar = cuda::device::barrier_native_handle(loaded[stage]);
        while (!ptx::mbarrier_try_wait_parity(bar, step / stages % 2)) {
        }
        const auto of_a = descriptor(boxes.a[stage]), of_b = descriptor(boxes.b[stage]);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int k = 0; k < tile / 16; ++k) multiply(sum, of_a + 2 * k, of_b + 2 * k);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    }

    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int n = 0; n < 32; ++n) {
        const int r = row + warp * 16 + lane / 4 + n / 2 % 2 * 8;
        const int at = column + n / 4 * 8 + lane % 4 * 2 + n % 2;
        if (r < rows && at < columns) c[static_cast<long long>(r) * columns + at] = sum[n];
    }
}
