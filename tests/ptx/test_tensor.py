# ruff: noqa: E501 - PTX text is wide
"""Copies of a tensor's tiles, by maps that the driver makes."""

import ctypes
from ctypes import c_uint32, c_uint64, c_void_p

import driver_abi
import numpy as np
import pytest

COVERED = """
cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes
cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
cp.async.bulk.tensor.1d.global.shared::cta.bulk_group cp.async.bulk.prefetch.tensor.1d.L2.global
"""

TYPES = {"u1": 0, "u2": 1, "u4": 2, "i4": 3, "u8": 4, "i8": 5, "f2": 6, "f4": 7, "f8": 8}


class Map(ctypes.Structure):
    _fields_ = [("opaque", c_uint64 * 16)]


def encoded(driver, address, a, box, steps=None, swizzle=0, fill=0, interleave=0, rank=None):
    """(result, map) of an array in C order; axes are numbered from the innermost one."""
    memory = ctypes.create_string_buffer(128 + 64)
    at = (ctypes.addressof(memory) + 63) // 64 * 64
    sizes = (c_uint64 * 5)(*reversed(a.shape))
    strides = (c_uint64 * 5)(*reversed(a.strides[:-1]))
    code = driver.library.cuTensorMapEncodeTiled(
        c_void_p(at), ctypes.c_int(TYPES[a.dtype.str[1:]]), c_uint32(a.ndim if rank is None else rank), c_void_p(address),
        sizes, strides, (c_uint32 * 5)(*box), (c_uint32 * 5)(*(steps or [1] * 5)), ctypes.c_int(interleave),
        ctypes.c_int(swizzle), ctypes.c_int(0), ctypes.c_int(fill),
    )  # fmt: skip
    meaning = a.shape, a.strides, a.dtype.str, box, steps, swizzle, fill, interleave, rank
    return code, driver.own_layout(ctypes.string_at(at, 128), meaning)


def kernel(rank, size, to="shared::cluster", stores=True):
    """Loads a tile, copies it as it lies in shared memory, adds one to each byte, and stores it back."""
    store = f"cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group [%rd0, {{CORNER}}], [box]; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
    corner = ", ".join(f"%c{n}" for n in range(rank))
    return f""".version 8.6\n.target sm_90\n.address_size 64
    .visible .entry k(.param .align 64 .b8 map[128], .param .u64 pat, .param .u64 pout) {{
    .shared .align 8 .b64 bar; .shared .align 1024 .b8 box[{size}];
    .reg .b64 %rd<16>; .reg .b32 %r<16>; .reg .b32 %c<5>; .reg .b16 %h<4>; .reg .pred %p<4>;
    mov.b64 %rd0, map; cvta.param.u64 %rd0, %rd0; ld.param.u64 %rd1, [pat]; ld.param.u64 %rd2, [pout]; cvta.to.global.u64 %rd1, %rd1; cvta.to.global.u64 %rd2, %rd2;
    {"".join(f"ld.global.u32 %c{n}, [%rd1+{4 * n}];" for n in range(rank))}
    mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; @!%p0 bra READY;
    mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta; prefetch.tensormap [%rd0];
    cp.async.bulk.prefetch.tensor.{rank}d.L2.global.tile [%rd0, {{{corner}}}];
    mbarrier.arrive.expect_tx.shared.b64 _, [bar], {size};
    cp.async.bulk.tensor.{rank}d.{to}.global.tile.mbarrier::complete_tx::bytes [box], [%rd0, {{{corner}}}], [bar];
    READY: bar.sync 0;
    WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra WAIT;
    mov.u32 %r1, %r0; mov.u32 %r2, box;
    LOOP: setp.ge.u32 %p2, %r1, {size}; @%p2 bra DONE; add.u32 %r3, %r2, %r1; ld.shared.u8 %r4, [%r3]; cvt.u64.u32 %rd3, %r1; add.u64 %rd3, %rd2, %rd3;
    st.global.u8 [%rd3], %r4; add.u32 %r4, %r4, 1; st.shared.u8 [%r3], %r4; add.u32 %r1, %r1, 64; bra LOOP;
    DONE: fence.proxy.async.shared::cta; bar.sync 0; @!%p0 bra END;
    {store.replace("CORNER", corner) if stores else ""} END: ret; }}"""


def placed(rows, swizzle):
    """Where each byte of rows that follow each other lies."""
    at = np.arange(rows.size)
    return at ^ ((at >> 7 & (1 << swizzle) - 1) << 4)


def raised(x):
    """A number whose every byte is one more."""
    return (np.frombuffer(x.tobytes(), np.uint8) + np.uint8(1)).view(x.dtype)[0]


CASES = [
    # shape, type, box (innermost first), corners, more
    ((64,), "u4", (16,), [(0,), (40,), (56,), (-8,), (100,)], {}),
    ((20, 32), "f4", (8, 4), [(0, 0), (4, 3), (28, 18), (-4, -2), (0, 30)], {}),
    ((20, 32), "f4", (8, 4), [(28, 18), (-4, -2)], {"fill": 1}),
    ((12, 64), "u2", (32, 8), [(0, 0), (16, 4), (40, 8)], {"swizzle": 2}),
    ((40, 64), "f2", (64, 16), [(0, 0), (8, 30), (-8, 3)], {"swizzle": 3}),
    ((40, 32), "u1", (32, 32), [(0, 0), (16, 20)], {"swizzle": 1}),
    ((6, 10, 16), "i4", (8, 3, 2), [(0, 0, 0), (12, 8, 5), (-4, 2, 1)], {}),
    ((6, 10, 16), "u8", (4, 6, 4), [(0, 0, 0), (2, 1, 2)], {"steps": (1, 2, 3, 1, 1)}),
    ((3, 2, 4, 3, 16), "f8", (2, 2, 3, 2, 2), [(0, 0, 0, 0, 0), (14, 2, 2, 1, 1), (2, -1, 0, 0, 2)], {}),
]  # fmt: skip


@pytest.mark.parametrize("to", ["shared::cluster", "shared::cta"])
@pytest.mark.parametrize(
    "case", CASES, ids=lambda c: f"{c[1]}-{'x'.join(map(str, c[0]))}-{len(c[4])}"
)
def test_tiles(case, to, load, driver):
    shape, kind, box, corners, more = case
    a = np.random.default_rng(1).integers(0, 100, shape).astype(kind)
    steps = more.get("steps", (1,) * 5)
    counts = [-(-b // s) if n else b for n, (b, s) in enumerate(zip(box, steps, strict=False))]
    size = int(np.prod(counts)) * a.itemsize
    both, loads = load(kernel(a.ndim, size, to)), load(kernel(a.ndim, size, to, stores=False))
    memory = c_uint64()
    driver.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(a.nbytes))
    try:
        code, tensor = encoded(driver, memory.value, a, box, **more)
        assert code == 0
        for corner in corners:
            stored = min(corner) >= 0  # else the box can only be loaded
            driver.cuMemcpyHtoD_v2(memory, c_void_p(a.ctypes.data), ctypes.c_size_t(a.nbytes))
            out = np.zeros(size, np.uint8)
            (both if stored else loads).run(
                "k", 1, 64, [Map.from_buffer_copy(tensor), np.array([*corner, 0], np.int32), out]
            )
            back = np.empty_like(a)
            driver.cuMemcpyDtoH_v2(c_void_p(back.ctypes.data), memory, ctypes.c_size_t(a.nbytes))
            # The expected tile, in C order: outermost axis first.
            tile = np.zeros(counts[::-1], a.dtype)
            if more.get("fill"):
                tile.view(np.uint16)[:] = 0x7FF7
            expected = a.copy()
            for place in np.ndindex(*counts[::-1]):
                index = tuple(
                    c + p * (s if n else 1)
                    for n, (c, p, s) in enumerate(zip(corner, place[::-1], steps, strict=False))
                )[::-1]
                if all(0 <= i < n for i, n in zip(index, a.shape, strict=True)):
                    tile[place] = a[index]
                    if stored:
                        expected[index] = raised(a[index])
            rows = tile.reshape(-1).view(np.uint8)
            got = out[placed(rows, more.get("swizzle", 0))]
            assert (got == rows).all()
            assert (back.view(np.uint8) == expected.view(np.uint8)).all()
    finally:
        driver.library.cuMemFree_v2(memory)


def test_sent_to_several_blocks(load, driver):
    """Block 0 of a cluster sends a tile to blocks 0, 1 and 3."""
    a = np.arange(16 * 32, dtype=np.uint32).reshape(16, 32)
    text = """.version 8.6\n.target sm_90\n.address_size 64
    .visible .entry k(.param .align 64 .b8 map[128], .param .u64 pout) .explicitcluster .reqnctapercluster 4, 1, 1 {
    .shared .align 8 .b64 bar; .shared .align 128 .b8 box[512];
    .reg .b64 %rd<8>; .reg .b32 %r<8>; .reg .b16 %h<2>; .reg .pred %p<8>;
    mov.b64 %rd0, map; cvta.param.u64 %rd0, %rd0; ld.param.u64 %rd2, [pout]; cvta.to.global.u64 %rd2, %rd2; mov.u32 %r0, %tid.x; mov.u32 %r1, %cluster_ctarank;
    setp.eq.u32 %p0, %r0, 0; setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r1, 2; mov.b16 %h0, 11; mov.u32 %r2, 4; mov.u32 %r3, 7;
    mov.u32 %r5, box; shl.b32 %r6, %r0, 2; add.u32 %r5, %r5, %r6; st.shared.u32 [%r5], 0;
    @%p0 mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster; fence.proxy.async; @%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 512;
    barrier.cluster.arrive; barrier.cluster.wait; and.pred %p3, %p0, %p1;
    @%p3 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [box], [%rd0, {%r2, %r3}], [bar], %h0;
    @%p2 bra DONE; WAIT: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra WAIT;
    DONE: ld.shared.u32 %r7, [%r5]; mad.lo.u32 %r4, %r1, 128, %r0; mul.wide.u32 %rd3, %r4, 4; add.u64 %rd3, %rd2, %rd3; st.global.u32 [%rd3], %r7;
    barrier.cluster.arrive; barrier.cluster.wait; ret; }"""
    memory = c_uint64()
    driver.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(a.nbytes))
    driver.cuMemcpyHtoD_v2(memory, c_void_p(a.ctypes.data), ctypes.c_size_t(a.nbytes))
    code, tensor = encoded(driver, memory.value, a, (16, 8))
    assert code == 0
    out = np.zeros((4, 128), np.uint32)
    load(text).run("k", 4, 128, [Map.from_buffer_copy(tensor), out])
    driver.library.cuMemFree_v2(memory)
    assert (out[[0, 1, 3]] == a[7:15, 4:20].reshape(-1)).all() and (out[2] == 0).all()


def test_descriptions_that_are_wrong(driver):
    a = np.zeros((20, 32), np.float32)
    wrong = [
        {"box": (0, 4)}, {"box": (257, 4)}, {"box": (6, 4)}, {"box": (8, 4), "rank": 0}, {"box": (8, 4), "rank": 6},
        {"box": (64, 4), "swizzle": 3}, {"box": (8, 4), "steps": (1, 9, 1, 1, 1)},
    ]  # fmt: skip
    for more in wrong:
        more = dict(more)
        assert encoded(driver, 1 << 32, a, (*more.pop("box"), 1, 1, 1), **more)[0] == 1, more
    assert encoded(driver, (1 << 32) + 8, a, (8, 4))[0] == 1
    strided = np.zeros((20, 33), np.float32)
    assert encoded(driver, 1 << 32, strided, (8, 4))[0] == 1
    assert encoded(driver, 1 << 32, np.zeros((20, 32), np.int32), (8, 4), fill=1)[0] == 1


def test_a_map_of_a_small_tensor_as_cutlass_changes_it(load, driver, memory):
    driver.skip_on_hardware("CUTLASS does this for some versions of the driver alone")
    a = np.arange(8 * 16, dtype=np.uint32).reshape(8, 16)
    at, _ = memory(a)
    _, tensor = encoded(driver, at, a, (16, 8))
    words = np.frombuffer(tensor, np.uint64).copy()
    words[1] &= ~np.uint64(1 << 21)
    out = np.zeros(a.nbytes, np.uint8)
    loads = load(kernel(2, a.nbytes, stores=False))
    loads.run("k", 1, 64, [Map.from_buffer_copy(words), np.zeros(3, np.int32), out])
    np.testing.assert_array_equal(out.view(np.uint32), a.ravel())


def test_what_is_no_map_is_an_error(load, driver):
    driver.skip_on_hardware("a fault there is the end of the process's context")
    module = load(kernel(2, 128))
    with pytest.raises(driver_abi.DriverError) as error:
        module.run("k", 1, 64, [Map(), np.zeros(3, np.int32), np.zeros(128, np.uint8)])
    driver.reset()
    assert error.value.code == 715


# Beside what the manual says, an H200 wants a tile to begin at whole 16 bytes of its rows, whichever
# way it goes, and what is stored not to begin before the tensor.
@pytest.mark.parametrize(("kind", "corner", "stores"), [
    ("u4", (3, 0), False), ("u4", (-3, 0), False), ("f8", (1, 1), False), ("u1", (8, 0), False), ("u4", (2, 0), True), ("u4", (-4, 0), True),
    ("u4", (4, -1), True),
])  # fmt: skip
def test_places_that_a_tile_does_not_begin_at(kind, corner, stores, load, driver, memory):
    driver.skip_on_hardware("a fault there is the end of the process's context")
    a = np.zeros((8, 64), kind)
    _, tensor = encoded(driver, memory(a)[0], a, (16 // a.itemsize, 4))
    with pytest.raises(driver_abi.DriverError) as error:
        load(kernel(2, 64, stores=stores)).run("k", 1, 64, [Map.from_buffer_copy(tensor), np.array([*corner, 0], np.int32), np.zeros(64, np.uint8)])  # fmt: skip
    driver.reset()
    assert error.value.code == 715


def test_a_map_may_have_no_address_yet(driver):
    """CUTLASS makes maps of groups so, and puts addresses and strides into them later."""
    a = np.lib.stride_tricks.as_strided(np.zeros(1, np.uint8), (1, 1), (0, 1))
    assert encoded(driver, None, a, (128, 64), swizzle=3)[0] == 0
    assert encoded(driver, 8, a, (128, 64), swizzle=3)[0] == driver_abi.INVALID_VALUE


def test_a_copy_by_a_map_without_an_address_is_a_fault(load, driver):
    if driver.on_hardware:
        pytest.skip("a fault there is the end of the process's context")
    _, tensor = encoded(driver, None, np.zeros((8, 64), np.uint8), (16, 4))
    with pytest.raises(driver_abi.DriverError) as error:
        load(kernel(2, 64, stores=False)).run("k", 1, 64, [Map.from_buffer_copy(tensor), np.zeros(3, np.int32), np.zeros(64, np.uint8)])  # fmt: skip
    driver.reset()
    assert error.value.code == driver_abi.ILLEGAL_ADDRESS


def test_boxes_are_no_larger_than_shared_memory(driver):
    """As an H100 has it: 228 KiB, counted with the steps. The last box's size wraps in 32 bits."""
    a = np.zeros((2, 2, 2, 512, 512), np.uint8)
    for box, steps, expected in [
        ((256, 228, 4, 1, 1), None, 0), ((256, 229, 4, 1, 1), None, 1), ((256, 256, 4, 1, 1), (1, 2, 1, 1, 1), 0),
        ((256, 256, 16, 1, 1), (1, 2, 1, 1, 1), 1), ((48, 41, 97, 149, 151), None, 1),
    ]:  # fmt: skip
        assert encoded(driver, 1 << 32, a, box, steps)[0] == expected, box


def test_a_box_of_more_bytes_than_32_bits_count(load, driver, memory):
    """Of these sizes the product wraps to 1808, which is no multiple of a row's 48 bytes."""
    if driver.on_hardware:
        pytest.skip("a fault there is the end of the process's context")
    sizes = (48, 41, 97, 149, 151)
    assert np.prod(sizes, dtype=np.int64) % 2**32 == 1808
    a = np.zeros((1, 1, 1, 1, 48), np.uint8)
    _, tensor = encoded(driver, memory(a)[0], a, (48, 1, 1, 1, 1))
    at = memory(np.frombuffer(tensor, np.uint8))[0]
    change = "".join(f"tensormap.replace.tile.box_dim.global.b1024.b32 [%rd0], {n}, {size};" for n, size in enumerate(sizes))  # fmt: skip
    text = (
        kernel(5, 4096, stores=False)
        .replace(".param .align 64 .b8 map[128]", ".param .u64 map")
        .replace("sm_90", "sm_90a")
    )
    text = text.replace(
        "mov.b64 %rd0, map; cvta.param.u64 %rd0, %rd0;", f"ld.param.u64 %rd0, [map]; {change}"
    )
    assert change in text
    with pytest.raises(driver_abi.DriverError) as error:
        load(text).run("k", 1, 64, [c_uint64(at), np.zeros(6, np.int32), np.zeros(4096, np.uint8)])
    driver.reset()
    assert error.value.code == driver_abi.ILLEGAL_ADDRESS


def test_a_swizzled_box_at_the_end_of_shared_memory(load, driver, memory):
    """Its one chunk of 16 bytes is put behind the end."""
    if driver.on_hardware:
        pytest.skip("a fault there is the end of the process's context")
    a = np.zeros((8, 32), np.uint8)
    _, tensor = encoded(driver, memory(a)[0], a, (16, 1), swizzle=1)
    text = kernel(2, 16, stores=False)
    text = text.replace(".shared .align 1024 .b8 box[16];", "")
    text = text.replace(".visible .entry", ".extern .shared .align 128 .b8 box[];\n.visible .entry")
    with pytest.raises(driver_abi.DriverError) as error:
        load(text).run("k", 1, 64, [Map.from_buffer_copy(tensor), np.zeros(3, np.int32), np.zeros(16, np.uint8)], shared=16)  # fmt: skip
    driver.reset()
    assert error.value.code == driver_abi.ILLEGAL_ADDRESS
