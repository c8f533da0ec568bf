"""Products of matrices as programs have them: CUDA C++ that nvcc compiles, against NumPy."""

import driver_abi
import numpy as np
import pytest
from images import compiled, folder

from . import driver as ptx_driver
from . import matrix

WMMA = r"""
#include <mma.h>
using namespace nvcuda;

// D = alpha * A * B + C for any multiples of the tile; a warp makes a tile.
template <class T, class S, int M, int N, int K, class LA, class LB>
__device__ void product(const T* a, const T* b, const S* c, S* d, int m, int n, int k) {
    const int row = blockIdx.y * M, column = (blockIdx.x * blockDim.y + threadIdx.y) * N;
    if (column >= n) return;
    constexpr bool rows = std::is_same<LA, wmma::row_major>::value;
    constexpr bool columns = std::is_same<LB, wmma::col_major>::value;
    wmma::fragment<wmma::accumulator, M, N, K, S> sum, addend;
    wmma::fill_fragment(sum, S(0));
    for (int i = 0; i < k; i += K) {
        wmma::fragment<wmma::matrix_a, M, N, K, T, LA> left;
        wmma::fragment<wmma::matrix_b, M, N, K, T, LB> right;
        wmma::load_matrix_sync(left, rows ? a + row * k + i : a + i * m + row, rows ? k : m);
        wmma::load_matrix_sync(right, columns ? b + column * k + i : b + i * n + column,
                               columns ? k : n);
        wmma::mma_sync(sum, left, right, sum);
    }
    wmma::load_matrix_sync(addend, c + row * n + column, n, wmma::mem_row_major);
    for (int i = 0; i < sum.num_elements; ++i) sum.x[i] = S(2) * sum.x[i] + addend.x[i];
    wmma::store_matrix_sync(d + row * n + column, sum, n, wmma::mem_row_major);
}

#define KERNEL(name, T, S, M, N, K, LA, LB)                                                     \
    extern "C" __global__ void name(const T* a, const T* b, const S* c, S* d, int m, int n,     \
                                    int k) {                                                    \
        product<T, S, M, N, K, wmma::LA, wmma::LB>(a, b, c, d, m, n, k);                        \
    }
// By way of shared memory.
extern "C" __global__ void staged(const half* a, const half* b, float* d) {
    __shared__ __align__(32) half left[16 * 24], right[16 * 24];
    __shared__ __align__(32) float made[16 * 20];
    for (int i = threadIdx.x; i < 256; i += 32) {
        left[i / 16 * 24 + i % 16] = a[i];
        right[i / 16 * 24 + i % 16] = b[i];
    }
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> y;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> z;
    wmma::fill_fragment(z, 0.0f);
    wmma::load_matrix_sync(x, left, 24);
    wmma::load_matrix_sync(y, right, 24);
    wmma::mma_sync(z, x, y, z);
    wmma::store_matrix_sync(made, z, 20, wmma::mem_col_major);
    __syncwarp();
    for (int i = threadIdx.x; i < 256; i += 32) d[i] = made[i / 16 * 20 + i % 16];
}

KERNEL(half_rc, half, float, 16, 16, 16, row_major, col_major)
KERNEL(half_cr, half, float, 32, 8, 16, col_major, row_major)
KERNEL(half_half, half, half, 8, 32, 16, row_major, row_major)
KERNEL(bytes, signed char, int, 16, 16, 16, row_major, col_major)
KERNEL(doubles, double, double, 8, 8, 4, row_major, col_major)
"""

# A loop of hand-written and generated kernels: cp.async left out, tiles in shared memory whose
# rows are exchanged so that ldmatrix meets no bank twice, two tiles of 16 x 8 a warp.
MMA = r"""
#include <cuda_fp16.h>
#include <cuda_bf16.h>

__device__ unsigned shared_address(const void* p) {
    return static_cast<unsigned>(__cvta_generic_to_shared(p));
}
__device__ int place(int row, int chunk) { return row * 32 + ((chunk ^ (row >> 1 & 3)) << 3); }

template <bool Brain, class T>
__device__ void product(const T* a, const T* b, float* d, int n, int k) {
    __shared__ __align__(128) T left[64 * 32], right[32 * 32];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = blockIdx.y * 64, column = blockIdx.x * 32;
    float sum[4][4] = {};
    for (int i = 0; i < k; i += 32) {
        for (int c = threadIdx.x; c < 256; c += 128)
            *reinterpret_cast<uint4*>(&left[place(c / 4, c % 4)]) =
                *reinterpret_cast<const uint4*>(&a[(row + c / 4) * k + i + c % 4 * 8]);
        *reinterpret_cast<uint4*>(&right[place(threadIdx.x / 4, threadIdx.x % 4)]) =
            *reinterpret_cast<const uint4*>(
                &b[(column + threadIdx.x / 4) * k + i + threadIdx.x % 4 * 8]);
        __syncthreads();
        for (int step = 0; step < 2; ++step) {
            unsigned x[4], y[4][2];
            const int r = warp * 16 + lane % 16;
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                         : "r"(shared_address(&left[place(r, step * 2 + lane / 16)])));
            for (int j = 0; j < 4; ++j) {
                const int s = j * 8 + lane % 8;
                asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                             : "=r"(y[j][0]), "=r"(y[j][1])
                             : "r"(shared_address(&right[place(s, step * 2 + lane / 8 % 2)])));
            }
            for (int j = 0; j < 4; ++j) {
                if constexpr (Brain)
                    asm volatile(
                        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                        : "+f"(sum[j][0]), "+f"(sum[j][1]), "+f"(sum[j][2]), "+f"(sum[j][3])
                        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[j][0]), "r"(y[j][1]));
                else
                    asm volatile(
                        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                        : "+f"(sum[j][0]), "+f"(sum[j][1]), "+f"(sum[j][2]), "+f"(sum[j][3])
                        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[j][0]), "r"(y[j][1]));
            }
        }
        __syncthreads();
    }
    for (int j = 0; j < 4; ++j)
        for (int h = 0; h < 2; ++h) {
            const int r = row + warp * 16 + lane / 4 + h * 8;
            float* to = &d[r * n + column + j * 8 + lane % 4 * 2];
            to[0] = sum[j][h * 2];
            to[1] = sum[j][h * 2 + 1];
        }
}

extern "C" __global__ void halves(const half* a, const half* b, float* d, int n, int k) {
    product<false>(a, b, d, n, k);
}
extern "C" __global__ void brains(const __nv_bfloat16* a, const __nv_bfloat16* b, float* d, int n,
                                  int k) {
    product<true>(a, b, d, n, k);
}
"""


# 64 x 64 by a warpgroup: tiles of 64 elements of k, rows of 128 bytes whose chunks are exchanged as
# copies of tensors do it, and a descriptor that moves by 32 bytes from one k to the next.
WGMMA = r"""
#include <cuda_fp16.h>

__device__ unsigned long long descriptor(const void* p) {
    const unsigned long long at = __cvta_generic_to_shared(p);
    return (at & 0x3ffff) >> 4 | 1ull << 16 | 1024ull / 16 << 32 | 1ull << 62;
}

__device__ void load(half* to, const half* from, int k, int i) {
    for (int c = threadIdx.x; c < 512; c += 128)
        *reinterpret_cast<uint4*>(&to[c / 8 * 64 + (c % 8 ^ c / 8 % 8) * 8]) =
            *reinterpret_cast<const uint4*>(&from[c / 8 * k + i + c % 8 * 8]);
}

#define D8(n) "+f"(sum[n]), "+f"(sum[n + 1]), "+f"(sum[n + 2]), "+f"(sum[n + 3]), \
              "+f"(sum[n + 4]), "+f"(sum[n + 5]), "+f"(sum[n + 6]), "+f"(sum[n + 7])
#define D "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "          \
          "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "

template <bool Registers>
__device__ void product(const half* a, const half* b, float* d, int k) {
    __shared__ __align__(1024) half left[64 * 64], right[64 * 64];
    const int lane = threadIdx.x % 32, row = blockIdx.x * 64 + threadIdx.x / 32 * 16 + lane / 4;
    float sum[32] = {};
    for (int i = 0; i < k; i += 64) {
        load(left, a + blockIdx.x * 64 * k, k, i);
        load(right, b, k, i);
        asm volatile("fence.proxy.async;" ::: "memory");
        __syncthreads();
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int step = 0; step < 4; ++step) {
            const auto y = descriptor(right + step * 16);
            if constexpr (Registers) {
                unsigned x[4];
                for (int n = 0; n < 4; ++n)
                    x[n] = *reinterpret_cast<const unsigned*>(
                        &a[(row + n % 2 * 8) * k + i + step * 16 + n / 2 * 8 + lane % 4 * 2]);
                asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " D
                             "{%32, %33, %34, %35}, %36, 1, 1, 1, 0;"
                             : D8(0), D8(8), D8(16), D8(24)
                             : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "l"(y));
                asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
                asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
                asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            } else {
                const auto x = descriptor(left + step * 16);
                asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " D
                             "%32, %33, 1, 1, 1, 0, 0;"
                             : D8(0), D8(8), D8(16), D8(24)
                             : "l"(x), "l"(y));
            }
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        __syncthreads();
    }
    for (int n = 0; n < 32; ++n)
        d[(row + n / 2 % 2 * 8) * 64 + n / 4 * 8 + lane % 4 * 2 + n % 2] = sum[n];
}

extern "C" __global__ void from_memory(const half* a, const half* b, float* d, int k) {
    product<false>(a, b, d, k);
}
extern "C" __global__ void from_registers(const half* a, const half* b, float* d, int k) {
    product<true>(a, b, d, k);
}
"""


def ptx(name, source, architecture):
    path = folder() / f"{name}.cu"
    path.write_text(source)
    made = compiled(f"{name}.ptx", path, "-ptx", f"-arch=compute_{architecture}")
    return made.read_text()


def numbers(shape, kind, seed):
    rng = np.random.default_rng(seed)
    if np.issubdtype(kind, np.integer):
        return rng.integers(-128, 128, shape, kind)
    return rng.integers(-8, 9, shape).astype(kind) / kind(4)


@pytest.mark.parametrize(
    ("name", "kind", "sum_kind", "tile", "turned"),
    [
        ("half_rc", np.float16, np.float32, (16, 16), (False, True)),
        ("half_cr", np.float16, np.float32, (32, 8), (True, False)),
        ("half_half", np.float16, np.float16, (8, 32), (False, False)),
        ("bytes", np.int8, np.int32, (16, 16), (False, True)),
        ("doubles", np.float64, np.float64, (8, 8), (False, True)),
    ],
)
def test_products_by_wmma(name, kind, sum_kind, tile, turned, load):
    m, n, k = 64, 96, 48
    a, b = numbers((m, k), kind, 1), numbers((k, n), kind, 2)
    c = numbers((m, n), sum_kind, 3)
    d = np.zeros_like(c)
    held = [np.ascontiguousarray(x.T if t else x) for x, t in zip((a, b), turned, strict=True)]
    module = load(ptx("wmma", WMMA, 80))
    sizes = [np.int32(x) for x in (m, n, k)]
    module.run(name, (-(-n // tile[1] // 4), m // tile[0]), (32, 4), [*held, c, d, *sizes])
    # Quarters and sixteenths: every sum is exact in every type.
    wide = np.int64 if kind == np.int8 else np.float64
    exact = 2 * (a.astype(wide) @ b.astype(wide)) + c.astype(wide)
    assert (d == exact.astype(sum_kind)).all()


def test_wmma_in_shared_memory(load):
    a, b = numbers((16, 16), np.float16, 6), numbers((16, 16), np.float16, 7)
    d = np.zeros((16, 16), np.float32)
    load(ptx("wmma", WMMA, 80)).run("staged", 1, 32, [a, b, d])
    assert (a.astype(np.float32) @ b.astype(np.float32) == d.T).all()


@pytest.mark.parametrize("name", ["from_memory", "from_registers"])
def test_products_by_wgmma(name, load):
    m, n, k = 128, 64, 192
    a, b = numbers((m, k), np.float16, 8), numbers((n, k), np.float16, 9)
    d = np.zeros((m, n), np.float32)
    load(ptx("wgmma", WGMMA, "90a")).run(name, m // 64, 128, [a, b, d, np.int32(k)])
    assert (d == a.astype(np.float32) @ b.T.astype(np.float32)).all()


@pytest.mark.parametrize("name", ["halves", "brains"])
def test_products_by_mma_and_ldmatrix(name, load):
    m, n, k = 128, 96, 160
    a, b = numbers((m, k), np.float32, 4), numbers((n, k), np.float32, 5)
    if name == "halves":
        held = [x.astype(np.float16) for x in (a, b)]
    else:
        held = [(x.view(np.uint32) >> 16).astype(np.uint16) for x in (a, b)]
    d = np.zeros((m, n), np.float32)
    module = load(ptx("mma", MMA, 80))
    module.run(name, (n // 32, m // 64), 128, [*held, d, np.int32(n), np.int32(k)])
    assert (d == a @ b.T).all()


REGISTERS = """
.visible .entry k(.param .u64 pa, .param .u64 pb) {
.shared .align 128 .b8 s[4096]; .reg .b64 %a, %b, %x; .reg .b32 %r<20>; .reg .f32 %f<16>;
.reg .f64 %d<8>; .reg .pred %p, %q; ld.param.u64 %a, [pa]; ld.param.u64 %b, [pb];
mov.u32 %r0, %laneid; mul.wide.u32 %x, %r0, 4; add.u64 %b, %b, %x; mov.u32 %r9, s;
"""

REFUSED = [
    ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1},"
     " {%r4, %r5}, {%f0, %f1, %f2, %f3};", "expected a vector of 4, got 2"),
    ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f16 {%f0, %f1, %f2, %f3},"
     " {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%r0, %r1};", "unsupported form"),
    ("mma.sync.aligned.m16n8k8.row.col.s32.s8.s8.s32 {%r0, %r1, %r2, %r3}, {%r0}, {%r4},"
     " {%r0, %r1, %r2, %r3};", "unsupported form"),
    ("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%f0, %f1, %f2, %f3}, {%r0, %r1}, {%r4},"
     " {%r0, %r1, %r2, %r3};", "got one of .f32"),
    ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d0, %d1}, %d2, {%d3}, {%d4, %d5};",
     "expected a vector"),
    ("mma.sp.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r0, %r1}, {%r2, %r3}, {%r4, %r5},"
     " {%r6, %r7}, %r8, 4;", "selector"),
    ("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r0}, [%r9];", "expected a vector of 2, got 1"),
    ("ldmatrix.sync.aligned.m8n8.x2.global.b16 {%r0, %r1}, [%a];", "unsupported form"),
    ("wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r0, %r1, %r2, %r3}, [%a];",
     "expected a vector of 8, got 4"),
    ("wmma.load.a.sync.aligned.col.m8n8k32.s4 {%r0}, [%a];", "unsupported form"),
    ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %a, %b, %p, 2, 1,"
     " 0, 0;", "scale"),
    ("wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %a, %b, %p, 1, 1,"
     " 0, 0;", "unsupported form"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "message"), REFUSED)
def test_refused(line, message, driver, load):
    with pytest.raises(driver_abi.DriverError) as error:
        load(matrix.header() + REGISTERS + line + "\nret; }\n")
    assert error.value.code == driver_abi.INVALID_PTX
    if not driver.on_hardware:
        assert message in error.value.log


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("add.u32 %r9, %r9, 8; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r9];", "mis"),
        ("add.u32 %r9, %r9, 100000000; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r9];",
         "illegal"),
        ("add.u32 %r9, %r9, 8; stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r9], {%r0};", "mis"),
        ("add.u64 %a, %a, 0x100000000000; wmma.load.c.sync.aligned.row.m16n16k16.global.f32"
         " {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, [%a]; st.global.f32 [%b+128], %f0;",
         "illegal"),
        ("mov.u32 %r2, 0x10000000; wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%a],"
         " {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, %r2;", "illegal"),
    ],
)  # fmt: skip
def test_faults(line, code, driver):
    if "shared" in line:
        driver.skip_on_hardware("the code for a bad shared address depends on the device")
    text = matrix.header() + REGISTERS + line + "\nst.global.u32 [%b], %r1;\nret; }\n"
    done = ptx_driver.in_child(text, "module.run('k', 1, 32, [np.zeros(4), np.zeros(32)])")
    wanted = driver_abi.MISALIGNED_ADDRESS if code == "mis" else driver_abi.ILLEGAL_ADDRESS
    # An H200 calls these addresses wrong ones for the space, a code that others don't give.
    accepted = {wanted, driver_abi.INVALID_ADDRESS_SPACE} if driver.on_hardware else {wanted}
    assert done.stdout in {f"code {c}\n" for c in accepted}, done.stderr


def test_rows_of_other_lanes_are_not_looked_at(load):
    """Addresses count of as many lanes as there are rows."""
    body = """setp.ge.u32 %p, %r0, 8; mad.lo.u32 %r9, %r0, 16, %r9; mul.lo.u32 %r1, %r0, 0x20003;
    @!%p st.shared.v4.b32 [%r9], {%r1, %r1, %r1, %r1}; @%p mov.u32 %r9, 0xfffffff1;
    bar.warp.sync 0xffffffff; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r9];
    st.global.u32 [%b], %r2; ret; }"""
    out = np.zeros(32, np.uint32)
    load(matrix.header() + REGISTERS + body).run("k", 1, 32, [np.zeros(1), out])
    assert list(out) == [lane // 4 * 0x20003 for lane in range(32)]


def test_lanes_that_come_by_other_ways_meet(load):
    """A warp that was split before it multiplies: both halves are waited for."""
    body = """setp.lt.u32 %p, %r0, 13; @%p bra LESS; mul.lo.u32 %r1, %r0, 3; bra.uni BOTH;
    LESS: mul.lo.u32 %r1, %r0, 5; BOTH: setp.eq.u32 %q, %r0, 99;
    @%q movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r1;
    movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1; st.global.u32 [%b], %r2; ret; }"""
    out = np.zeros(32, np.uint32)
    load(matrix.header() + REGISTERS + body).run("k", 1, 32, [np.zeros(1), out])
    held = np.where(np.arange(32) < 13, np.arange(32) * 5, np.arange(32) * 3).astype(np.uint32)
    assert (out.view(np.uint16).reshape(8, 8) == held.view(np.uint16).reshape(8, 8).T).all()
