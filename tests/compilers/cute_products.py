"""Products of matrices on the tensor cores of sm_100a, as the CuTe DSL's own host code launches
them. NumPy multiplies, too.

The DSL loads machine code; the library of CUTE_DSL_LIBS loads the PTX that it gets from here.
"""

import ctypes
import os
import sys

import cutlass
import numpy as np
from cutlass import cute, memory, pipeline
from cutlass.cute.nvgpu import (
    OperandMajorMode,
    cpasync,
    make_tiled_tma_atom_A,
    make_tiled_tma_atom_B,
    tcgen05,
)
from cutlass.cute.runtime import from_dlpack
from cutlass.cutlass_dsl import cuda_jit_executor
from cutlass.utils.blackwell_helpers import make_smem_layout_a, make_smem_layout_b

import cupola

WARP = 32


def product(element, shape, group):
    """The instruction for A and B of an element, both K-major in shared memory."""
    return cute.make_tiled_mma(
        tcgen05.MmaF16BF16Op(
            element, cutlass.Float32, shape, group, tcgen05.OperandSource.SMEM,
            OperandMajorMode.K, OperandMajorMode.K,
        )
    )  # fmt: skip


def one_stage(layout):
    return cute.select(layout, mode=[0, 1, 2])


# -- one block, one step after the other ------------------------------------------------------

ROWS, COLUMNS, INNER = 128, 64, 64  # of a tile
TILE = (ROWS, COLUMNS, INNER)


@cute.struct
class Barriers:
    arrived: cutlass.Int64
    multiplied: cutlass.Int64
    columns: cutlass.Int32


@cute.kernel
def rectified_kernel(
    mma: cute.TiledMma,
    copy_a: cute.CopyAtom,
    a: cute.Tensor,
    copy_b: cute.CopyAtom,
    b: cute.Tensor,
    bias: cute.Tensor,
    out: cute.Tensor,
    layout_a: cute.ComposedLayout,
    layout_b: cute.ComposedLayout,
):
    thread, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    row, column, _ = cute.arch.block_idx()
    element = cutlass.Float16

    shared = memory.SmemAllocator()
    barriers = shared.allocate(Barriers)
    box_a = shared.allocate_tensor(element, layout_a.outer, 128, swizzle=layout_a.inner)
    box_b = shared.allocate_tensor(element, layout_b.outer, 128, swizzle=layout_b.inner)
    arrived, multiplied = barriers.arrived.ptr, barriers.multiplied.ptr
    if warp == 0:
        with cute.arch.elect_one():
            cute.arch.mbarrier_init(arrived, 1)
            cute.arch.mbarrier_init(multiplied, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.alloc_tmem(COLUMNS, barriers.columns.ptr)
        cute.arch.relinquish_tmem_alloc_permit()
    cute.arch.barrier()
    cells = cute.arch.retrieve_tmem_ptr(cutlass.Float32, 16, barriers.columns.ptr)

    part = mma.get_slice(0)
    place = (row, column, None)
    tiles_a = part.partition_A(cute.local_tile(a, TILE, place, proj=(1, None, 1)))
    tiles_b = part.partition_B(cute.local_tile(b, TILE, place, proj=(None, 1, 1)))
    of_a, of_b = mma.make_fragment_A(box_a), mma.make_fragment_B(box_b)
    layout = mma.make_fragment_C(mma.partition_shape_C((ROWS, COLUMNS))).layout
    sums = cute.make_tensor(cells, layout)
    to_a, from_a = cpasync.tma_partition(
        copy_a, 0, cute.make_layout(1), cute.group_modes(box_a, 0, 3),
        cute.group_modes(tiles_a, 0, 3),
    )  # fmt: skip
    to_b, from_b = cpasync.tma_partition(
        copy_b, 0, cute.make_layout(1), cute.group_modes(box_b, 0, 3),
        cute.group_modes(tiles_b, 0, 3),
    )  # fmt: skip
    size = cute.size_in_bytes(element, one_stage(layout_a))
    size += cute.size_in_bytes(element, one_stage(layout_b))

    for step in cutlass.range(cute.size(tiles_a, mode=[3])):
        if warp == 0:
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(arrived, size)
            cute.copy(copy_a, from_a[None, step], to_a[None, 0], tma_bar_ptr=arrived)
            cute.copy(copy_b, from_b[None, step], to_b[None, 0], tma_bar_ptr=arrived)
            cute.arch.mbarrier_wait(arrived, step % 2)
            for k in cutlass.range_constexpr(cute.size(of_a, mode=[2])):
                mma.set(tcgen05.Field.ACCUMULATE, step != 0 or k != 0)
                at = (None, None, k, 0)
                cute.gemm(mma, sums, of_a[at], of_b[at], sums)
            with cute.arch.elect_one():
                tcgen05.commit(multiplied)
        cute.arch.mbarrier_wait(multiplied, step % 2)

    # Each thread has a row: it adds the bias, and stores what is positive.
    tile = (None, None), 0, 0
    atom = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x32), cutlass.Float32)
    load = tcgen05.make_tmem_copy(atom, sums[tile])
    mine = load.get_slice(thread)
    proj = (1, 1, None)
    target = mine.partition_D(cute.local_tile(out, TILE, place, proj=proj))
    places = cute.make_identity_tensor(out.shape)
    where = mine.partition_D(cute.local_tile(places, TILE, place, proj=proj))
    values = cute.make_rmem_tensor(target.shape, cutlass.Float32)
    cute.copy(load, mine.partition_S(sums[tile]), values)
    cute.arch.fence_view_async_tmem_load()
    for n in cutlass.range_constexpr(cute.size(values)):
        value = values[n] + bias[where[n][1]]
        target[n] = value if value > 0.0 else cutlass.Float32(0.0)
    cute.arch.barrier()
    if warp == 0:
        cute.arch.dealloc_tmem(cells, COLUMNS)


@cute.jit
def rectified(a: cute.Tensor, b: cute.Tensor, bias: cute.Tensor, out: cute.Tensor):
    """out = max(a @ b.T + bias, 0)"""
    mma = product(a.element_type, (ROWS, COLUMNS, 16), tcgen05.CtaGroup.ONE)
    layout_a = make_smem_layout_a(mma, TILE, a.element_type, 1)
    layout_b = make_smem_layout_b(mma, TILE, b.element_type, 1)
    load = cpasync.CopyBulkTensorTileG2SOp(tcgen05.CtaGroup.ONE)
    copy_a, all_a = make_tiled_tma_atom_A(load, a, one_stage(layout_a), TILE, mma)
    copy_b, all_b = make_tiled_tma_atom_B(load, b, one_stage(layout_b), TILE, mma)
    rectified_kernel(mma, copy_a, all_a, copy_b, all_b, bias, out, layout_a, layout_b).launch(
        grid=(out.shape[0] // ROWS, out.shape[1] // COLUMNS, 1), block=(4 * WARP, 1, 1)
    )


def run_rectified():
    rng = np.random.default_rng(1)
    a = rng.integers(-4, 5, (256, 192)).astype(np.float16)
    b = rng.integers(-4, 5, (128, 192)).astype(np.float16)
    bias = rng.integers(-50, 50, 128).astype(np.float32)
    out = cupola.zeros((256, 128), np.float32)
    words = b"tcgen05.mma.cta_group::1", b"cp.async.bulk.tensor", b"tcgen05.ld"
    launch(rectified, words, *map(cupola.to_device, (a, b, bias)), out)
    expected = np.maximum(a.astype(np.float32) @ b.astype(np.float32).T + bias, 0)
    assert (out.get() == expected).all()


# -- a pair of blocks, whose warps copy, multiply and store at the same time ------------------

PAIR_TILE = (256, 128, 64)
STAGES, STORING = 3, 4 * WARP
CLUSTER = (2, 1, 1)


@cute.struct
class PairBarriers:
    stages: cute.struct.MemRange[cutlass.Int64, 2 * STAGES]
    sums: cute.struct.MemRange[cutlass.Int64, 2]
    columns: cutlass.Int32


@cute.kernel
def scaled_kernel(
    mma: cute.TiledMma,
    copy_a: cute.CopyAtom,
    a: cute.Tensor,
    copy_b: cute.CopyAtom,
    b: cute.Tensor,
    scale: cutlass.Float32,
    out: cute.Tensor,
    layout_a: cute.ComposedLayout,
    layout_b: cute.ComposedLayout,
    blocks: cute.Layout,
):
    thread, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    block, column, _ = cute.arch.block_idx()
    rank = cute.arch.make_warp_uniform(cute.arch.block_idx_in_cluster())
    element = cutlass.BFloat16
    copies, multiplies = warp == 4, warp == 5

    shared = memory.SmemAllocator()
    barriers = shared.allocate(PairBarriers)
    box_a = shared.allocate_tensor(element, layout_a.outer, 128, swizzle=layout_a.inner)
    box_b = shared.allocate_tensor(element, layout_b.outer, 128, swizzle=layout_b.inner)
    one_thread = pipeline.CooperativeGroup(pipeline.Agent.Thread)
    size = cute.size_in_bytes(element, one_stage(layout_a))
    size += cute.size_in_bytes(element, one_stage(layout_b))
    filling, reading = pipeline.PipelineTmaUmma.create(
        barrier_storage=barriers.stages.data_ptr(),
        num_stages=STAGES,
        producer_group=one_thread,
        consumer_group=one_thread,
        tx_count=2 * size,
        cta_layout_vmnk=blocks,
    ).make_participants()
    adding, storing = pipeline.PipelineUmmaAsync.create(
        barrier_storage=barriers.sums.data_ptr(),
        num_stages=1,
        producer_group=one_thread,
        consumer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, 2 * STORING),
        cta_layout_vmnk=blocks,
    ).make_participants()
    if warp == 0:
        cute.arch.alloc_tmem(PAIR_TILE[1], barriers.columns.ptr, is_two_cta=True)
        cute.arch.relinquish_tmem_alloc_permit(is_two_cta=True)
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    cells = cute.arch.retrieve_tmem_ptr(cutlass.Float32, 16, barriers.columns.ptr)

    part = mma.get_slice(rank)
    place = (block // 2, column, None)
    tiles_a = part.partition_A(cute.local_tile(a, PAIR_TILE, place, proj=(1, None, 1)))
    tiles_b = part.partition_B(cute.local_tile(b, PAIR_TILE, place, proj=(None, 1, 1)))
    target = part.partition_C(cute.local_tile(out, PAIR_TILE, place, proj=(1, 1, None)))
    of_a, of_b = mma.make_fragment_A(box_a), mma.make_fragment_B(box_b)
    sums = cute.make_tensor(cells, mma.make_fragment_C(mma.partition_shape_C(PAIR_TILE[:2])).layout)
    to_a, from_a = cpasync.tma_partition(
        copy_a, 0, cute.make_layout(1), cute.group_modes(box_a, 0, 3),
        cute.group_modes(tiles_a, 0, 3),
    )  # fmt: skip
    to_b, from_b = cpasync.tma_partition(
        copy_b, 0, cute.make_layout(1), cute.group_modes(box_b, 0, 3),
        cute.group_modes(tiles_b, 0, 3),
    )  # fmt: skip
    steps = cute.size(tiles_a, mode=[3])

    if copies:
        for step in cutlass.range(steps):
            stage = filling.acquire_and_advance()
            for_a, for_b = to_a[None, stage.index], to_b[None, stage.index]
            cute.copy(copy_a, from_a[None, step], for_a, tma_bar_ptr=stage.barrier)
            cute.copy(copy_b, from_b[None, step], for_b, tma_bar_ptr=stage.barrier)
        filling.tail()
    if multiplies and rank == 0:
        target_sums = adding.acquire_and_advance()
        for _ in cutlass.range(steps):
            stage = reading.wait_and_advance()
            for k in cutlass.range_constexpr(cute.size(of_a, mode=[2])):
                at = (None, None, k, stage.index)
                cute.gemm(mma, sums, of_a[at], of_b[at], sums)
                mma.set(tcgen05.Field.ACCUMULATE, True)
            stage.release()
        target_sums.commit()
        adding.tail()
    if warp < 4:
        finished = storing.wait_and_advance()
        quarter = ((cute.size(sums, mode=[0, 0]), cute.size(sums, mode=[0, 1]) // 4),)
        pieces, targets = cute.zipped_divide(sums, quarter), cute.zipped_divide(target, quarter)
        atom = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x16), cutlass.Float32)
        load = tcgen05.make_tmem_copy(atom, pieces[None, 0])
        mine = load.get_slice(thread)
        sources, targets = mine.partition_S(pieces), mine.partition_D(targets)
        values = cute.make_rmem_tensor(targets[None, None, 0].shape, cutlass.Float32)
        scaled = cute.make_rmem_tensor(values.shape, cutlass.Float16)
        for n in cutlass.range(cute.size(sources, mode=[2])):
            cute.copy(load, sources[None, None, n], values)
            scaled.store((values.load() * scale).to(cutlass.Float16))
            cute.autovec_copy(scaled, targets[None, None, n])
        cute.arch.fence_view_async_tmem_load()
        finished.release()
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    if warp == 0:
        cute.arch.dealloc_tmem(cells, PAIR_TILE[1], is_two_cta=True)


@cute.jit
def scaled(a: cute.Tensor, b: cute.Tensor, scale: cutlass.Float32, out: cute.Tensor):
    """out = scale * (a @ b.T)"""
    mma = product(a.element_type, (*PAIR_TILE[:2], 16), tcgen05.CtaGroup.TWO)
    layout_a = make_smem_layout_a(mma, PAIR_TILE, a.element_type, STAGES)
    layout_b = make_smem_layout_b(mma, PAIR_TILE, b.element_type, STAGES)
    blocks = cute.tiled_divide(cute.make_layout(CLUSTER), (mma.thr_id,))
    load = cpasync.CopyBulkTensorTileG2SOp(tcgen05.CtaGroup.TWO)
    copy_a, all_a = make_tiled_tma_atom_A(
        load, a, one_stage(layout_a), PAIR_TILE, mma, blocks.shape
    )
    copy_b, all_b = make_tiled_tma_atom_B(
        load, b, one_stage(layout_b), PAIR_TILE, mma, blocks.shape
    )
    scaled_kernel(
        mma, copy_a, all_a, copy_b, all_b, scale, out, layout_a, layout_b, blocks
    ).launch(
        grid=(2 * (out.shape[0] // PAIR_TILE[0]), out.shape[1] // PAIR_TILE[1], 1),
        block=(6 * WARP, 1, 1), cluster=CLUSTER,
    )  # fmt: skip


def run_scaled():
    rng = np.random.default_rng(2)
    a, b = rng.integers(-4, 5, (512, 320)), rng.integers(-4, 5, (256, 320))
    out = cupola.zeros((512, 256), np.float16)
    bits = [x.astype(np.float32).view(np.uint32) >> 16 for x in (a, b)]
    factors = [cupola.to_device(x.astype(np.uint16)) for x in bits]
    words = b"tcgen05.mma.cta_group::2", b"cp.async.bulk.tensor", b".multicast::cluster"
    factors = [tensor(x, cutlass.BFloat16) for x in factors]
    launch(scaled, words, *factors, cutlass.Float32(0.125), out)
    assert (out.get() == (0.125 * (a @ b.T)).astype(np.float16)).all()


# -- launches ---------------------------------------------------------------------------------


def tensor(array, element=None):
    found = from_dlpack(array, assumed_align=16)
    if element is not None:
        found.element_type = element
    return found


def launch(function, words, *arguments):
    """Compile, and launch the PTX, which has the words."""
    given = [tensor(one) if isinstance(one, cupola.Array) else one for one in arguments]
    made = cute.compile(function, *given, options="--gpu-arch sm_100a --keep-ptx")
    text = made.__ptx__.encode()
    assert all(word in text for word in (b".target sm_100a", *words)), words
    loader = ctypes.CDLL(os.environ["CUTE_DSL_LIBS"])
    loader.give(text)
    made(*given)
    cupola.Device().synchronize()
    assert loader.loads() == 1


# The DSL counts devices by a runtime that is linked with NVIDIA's driver.
cuda_jit_executor.CudaDialectJitCompiledFunction.num_devices = 1
{"rectified": run_rectified, "scaled": run_scaled}[sys.argv[1]]()
print("equal")
