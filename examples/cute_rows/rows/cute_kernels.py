# rows/cute_kernels.py - the kernels as the CuTe DSL reads them; only the build imports this file.
import operator

import cutlass
from cutlass import cute

THREADS = 128


@cute.kernel
def axpy_kernel(a: cutlass.Float32, x: cute.Tensor, y: cute.Tensor, out: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    if i < cute.size(out):
        out[i] = a * x[i] + y[i]


@cute.jit
def axpy(a: cutlass.Float32, x: cute.Tensor, y: cute.Tensor, out: cute.Tensor):
    grid = [cute.ceil_div(cute.size(out), THREADS), 1, 1]
    axpy_kernel(a, x, y, out).launch(grid=grid, block=[THREADS, 1, 1])


@cute.kernel
def softmax_kernel(out: cute.Tensor, x: cute.Tensor, warps: cutlass.Constexpr):
    """A block computes a row."""
    thread, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    memory = cutlass.memory.SmemAllocator()
    shared = memory.allocate_tensor(cutlass.Float32, cute.make_layout(warps))
    most = -cutlass.Float32.inf
    for j in range(thread, x.shape[1], 32 * warps):
        most = cute.arch.fmax(most, x[row, j])
    most = cute.arch.warp_reduction(most, cute.arch.fmax)
    if thread % 32 == 0:
        shared[thread // 32] = most
    cute.arch.sync_threads()
    for warp in cutlass.range_constexpr(warps):
        most = cute.arch.fmax(most, shared[warp])
    cute.arch.sync_threads()
    total = cutlass.Float32(0)
    for j in range(thread, x.shape[1], 32 * warps):
        power = cute.math.exp(x[row, j] - most)
        out[row, j] = power
        total += power
    total = cute.arch.warp_reduction(total, operator.add)
    if thread % 32 == 0:
        shared[thread // 32] = total
    cute.arch.sync_threads()
    total = cutlass.Float32(0)
    for warp in cutlass.range_constexpr(warps):
        total += shared[warp]
    for j in range(thread, x.shape[1], 32 * warps):
        out[row, j] = out[row, j] / total


@cute.jit
def softmax(out: cute.Tensor, x: cute.Tensor, warps: cutlass.Constexpr):
    softmax_kernel(out, x, warps).launch(grid=[x.shape[0], 1, 1], block=[32 * warps, 1, 1])
