# ruff: noqa: E501 - PTX text is wide
"""Copies of columns of a tensor's pixels (im2col), by maps that the driver makes."""

import ctypes
from ctypes import c_int, c_uint32, c_uint64, c_void_p

import numpy as np
import pytest

from . import driver as ptx
from .test_tensor import TYPES, Map, encoded, placed

COVERED = """
cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes
cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster
cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group cp.async.bulk.prefetch.tensor.3d.L2.global.im2col
cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.im2col_no_offs.bulk_group
"""


def described(
    driver, address, a, lower, upper, channels, pixels, steps=(1,) * 5, swizzle=0, fill=0
):
    """(result, map) of an array in C order: images, then axes of pixels, channels innermost."""
    memory = ctypes.create_string_buffer(128 + 64)
    at = (ctypes.addressof(memory) + 63) // 64 * 64
    sizes, strides = (c_uint64 * 5)(*reversed(a.shape)), (c_uint64 * 5)(*reversed(a.strides[:-1]))
    code = driver.library.cuTensorMapEncodeIm2col(
        c_void_p(at), c_int(TYPES[a.dtype.str[1:]]), c_uint32(a.ndim), c_void_p(address), sizes, strides,
        (c_int * 3)(*lower), (c_int * 3)(*upper), c_uint32(channels), c_uint32(pixels), (c_uint32 * 5)(*steps),
        c_int(0), c_int(swizzle), c_int(0), c_int(fill),
    )  # fmt: skip
    meaning = a.shape, a.strides, a.dtype.str, lower, upper, channels, pixels, steps, swizzle, fill
    return code, driver.own_layout(ctypes.string_at(at, 128), meaning)


def kernel(rank, size, back=None):
    """Loads a column from a map, and copies it as it lies in shared memory; `back` stores it by another map."""
    corner, shift = (
        ", ".join(f"%{r}{n}" for n in range(k)) for r, k in (("c", rank), ("h", rank - 2))
    )
    store = f"cp{'.reduce' if back else ''}.async.bulk.tensor.{rank}d.global.shared::cta{back}.im2col_no_offs.bulk_group [%rd4, {{{corner}}}], [box]; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
    return f""".version 8.6\n.target sm_90\n.address_size 64
    .visible .entry k(.param .align 64 .b8 map[128], .param .align 64 .b8 other[128], .param .u64 pat, .param .u64 pout) {{
    .shared .align 8 .b64 bar; .shared .align 1024 .b8 box[{size}];
    .reg .b64 %rd<8>; .reg .b32 %r<8>; .reg .b32 %c<5>; .reg .b16 %h<3>; .reg .pred %p<4>;
    mov.b64 %rd0, map; cvta.param.u64 %rd0, %rd0; mov.b64 %rd4, other; cvta.param.u64 %rd4, %rd4;
    ld.param.u64 %rd1, [pat]; ld.param.u64 %rd2, [pout]; cvta.to.global.u64 %rd1, %rd1; cvta.to.global.u64 %rd2, %rd2;
    {"".join(f"ld.global.u32 %c{n}, [%rd1+{4 * n}];" for n in range(rank))}
    {"".join(f"ld.global.u16 %h{n}, [%rd1+{20 + 4 * n}];" for n in range(rank - 2))}
    mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; @!%p0 bra READY;
    mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;
    cp.async.bulk.prefetch.tensor.{rank}d.L2.global.im2col [%rd0, {{{corner}}}], {{{shift}}};
    mbarrier.arrive.expect_tx.shared.b64 _, [bar], {size};
    cp.async.bulk.tensor.{rank}d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [box], [%rd0, {{{corner}}}], [bar], {{{shift}}};
    READY: bar.sync 0;
    WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra WAIT;
    mov.u32 %r1, %r0; mov.u32 %r2, box;
    LOOP: setp.ge.u32 %p2, %r1, {size}; @%p2 bra DONE; add.u32 %r3, %r2, %r1; ld.shared.u8 %r4, [%r3]; cvt.u64.u32 %rd3, %r1; add.u64 %rd3, %rd2, %rd3;
    st.global.u8 [%rd3], %r4; add.u32 %r1, %r1, 64; bra LOOP;
    DONE: fence.proxy.async.shared::cta; bar.sync 0; @!%p0 bra END; {"" if back is None else store} END: ret; }}"""


def column(shape, lower, upper, pixels, steps, start, shift=(0, 0, 0)):
    """Indices of a column's pixels, outermost axis first; start and shift innermost first."""
    at, found = list(start), []
    for _ in range(pixels):
        found.append(
            tuple(x + (shift[n] if n < len(at) - 1 else 0) for n, x in enumerate(at))[::-1]
        )
        for n, size in enumerate(shape[-2:0:-1]):
            at[n] += steps[n + 1]
            if at[n] <= size - 1 + upper[n]:
                break
            at[n] = lower[n]
        else:
            at[-1] += steps[len(at)]
    return found


# Each case: shape, type, corners, channels, pixels, [(coordinates, offsets)], further arguments.
CASES = [
    ((3, 9, 16), "u4", (-1,), (-1,), 8, 20, [((0, -1, 0), (0,)), ((8, 3, 1), (2,)), ((12, 0, 2), (1,))], {}),
    ((2, 6, 7, 16), "f4", (-1, -1), (-1, -1), 16, 48, [((0, -1, -1, 0), (0, 0)), ((0, 2, 3, 0), (2, 1)), ((8, 5, 4, 1), (2, 2))], {}),
    ((2, 6, 7, 16), "f2", (0, 0), (-2, -2), 16, 24, [((0, 0, 0, 0), (0, 0)), ((0, 4, 3, 1), (2, 2))], {}),
    ((2, 6, 7, 32), "f2", (-1, -1), (-1, -1), 32, 40, [((0, -1, -1, 0), (1, 2)), ((16, 5, 4, 1), (2, 0))], {"swizzle": 2, "fill": 1}),
    ((2, 9, 9, 16), "u4", (-1, -1), (-1, -1), 16, 30, [((0, -1, -1, 0), (0, 0)), ((0, 3, 1, 1), (2, 1))], {"steps": (1, 2, 2, 1, 1)}),
    ((3, 6, 7, 16), "u4", (-1, -1), (-1, -1), 4, 100, [((0, -1, -1, 0), (0, 0))], {"steps": (1, 2, 2, 2, 1)}),
    ((2, 8, 10, 64), "f2", (-2, -1), (-2, 0), 64, 64, [((0, -2, -1, 0), (4, 1)), ((0, 3, 4, 1), (0, 0))], {"steps": (1, 3, 2, 1, 1), "swizzle": 3}),
    ((2, 4, 5, 6, 16), "u1", (-1, -1, -1), (-1, -1, -1), 16, 200, [((0, -1, -1, -1, 0), (0, 0, 0)), ((0, 2, 3, 1, 0), (2, 1, 2))], {}),
    ((2, 4, 5, 6, 4), "f8", (0, -1, 0), (0, -1, 0), 4, 100, [((0, 0, -1, 0, 0), (0, 1, 0)), ((2, 5, 1, 3, 1), (0, 2, 0))], {"steps": (1, 2, 1, 2, 1)}),
    ((1, 40000, 16), "u1", (0,), (-32768,), 16, 8, [((0, 3, 0), (33000,)), ((0, 7000, 0), (32767,))], {}),
]  # fmt: skip


def padded(start, shift):
    return np.array([*start, *[0] * (5 - len(start)), *shift, *[0] * (3 - len(shift))], np.int32)


@pytest.mark.parametrize(
    "case", CASES, ids=lambda c: f"{c[1]}-{'x'.join(map(str, c[0]))}-{len(c[7])}"
)
def test_columns(case, load, driver, memory):
    shape, kind, lower, upper, channels, pixels, places, more = case
    a = np.random.default_rng(2).integers(1, 100, shape).astype(kind)
    code, tensor = described(driver, memory(a)[0], a, lower, upper, channels, pixels, **more)
    assert code == 0
    size = channels * pixels * a.itemsize
    module, steps = load(kernel(a.ndim, size)), more.get("steps", (1,) * 5)
    for start, shift in places:
        out = np.zeros(size, np.uint8)
        module.run("k", 1, 64, [Map.from_buffer_copy(tensor), Map(), padded(start, shift), out])
        expected = np.zeros((pixels, channels), a.dtype)
        if more.get("fill"):
            expected.view(np.uint16)[:] = 0x7FF7
        for row, index in zip(
            expected, column(shape, lower, upper, pixels, steps, start[1:], shift), strict=True
        ):
            if all(0 <= i < n for i, n in zip(index, shape, strict=False)):
                found = a[index][start[0] : start[0] + channels]
                row[: len(found)] = found
        got = out[placed(out, more.get("swizzle", 0))].view(a.dtype)
        assert np.array_equal(got.view(np.uint8), expected.reshape(-1).view(np.uint8)), start


@pytest.mark.parametrize("back", ["", ".add"])
def test_columns_are_stored(back, load, driver, memory):
    """One map loads columns of a tensor; another stores those that lie inside a second tensor."""
    a = np.arange(1, 2 * 6 * 7 * 16 + 1, dtype=np.uint32).reshape(2, 6, 7, 16)
    b = a[:, ::-1] * 1000
    b = np.ascontiguousarray(b)
    at, read = memory(b)
    box = ((0, 0), (-1, -1), 8, 30)
    (_, tensor), (code, other) = (
        described(driver, memory(a)[0], a, *box),
        described(driver, at, b, *box),
    )
    assert code == 0
    start = (8, 2, 1, 0)
    out = np.zeros(30 * 8 * 4, np.uint8)
    load(kernel(4, out.size, back)).run("k", 1, 64, [Map.from_buffer_copy(tensor), Map.from_buffer_copy(other), padded(start, ()), out])  # fmt: skip
    expected = b.copy()
    for index in column(a.shape, *box[:2], 30, (1,) * 5, start[1:]):
        if all(0 <= i < n for i, n in zip(index, a.shape, strict=False)):
            expected[index][8:] = a[index][8:] + (b[index][8:] if back else 0)
    assert np.array_equal(read(), expected)


def test_sent_to_several_blocks(load, driver, memory):
    """Block 0 of a cluster sends a column to blocks 0 and 1."""
    a = np.arange(1, 3 * 9 * 8 + 1, dtype=np.uint32).reshape(3, 9, 8)
    text = """.version 8.6\n.target sm_90\n.address_size 64
    .visible .entry k(.param .align 64 .b8 map[128], .param .u64 pout) .explicitcluster .reqnctapercluster 3, 1, 1 {
    .shared .align 8 .b64 bar; .shared .align 128 .b8 box[512];
    .reg .b64 %rd<8>; .reg .b32 %r<8>; .reg .b16 %h<2>; .reg .pred %p<8>;
    mov.b64 %rd0, map; cvta.param.u64 %rd0, %rd0; ld.param.u64 %rd2, [pout]; cvta.to.global.u64 %rd2, %rd2; mov.u32 %r0, %tid.x; mov.u32 %r1, %cluster_ctarank;
    setp.eq.u32 %p0, %r0, 0; setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r1, 2; mov.b16 %h0, 3; mov.b16 %h1, 2; mov.u32 %r2, 0; mov.u32 %r3, -1; mov.u32 %r4, 1;
    mov.u32 %r5, box; shl.b32 %r6, %r0, 2; add.u32 %r5, %r5, %r6; st.shared.u32 [%r5], 0;
    @%p0 mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster; fence.proxy.async; @%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 512;
    barrier.cluster.arrive; barrier.cluster.wait; and.pred %p3, %p0, %p1;
    @%p3 cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster [box], [%rd0, {%r2, %r3, %r4}], [bar], {%h1}, %h0;
    @%p2 bra DONE; WAIT: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra WAIT;
    DONE: ld.shared.u32 %r7, [%r5]; mad.lo.u32 %r4, %r1, 128, %r0; mul.wide.u32 %rd3, %r4, 4; add.u64 %rd3, %rd2, %rd3; st.global.u32 [%rd3], %r7;
    barrier.cluster.arrive; barrier.cluster.wait; ret; }"""
    code, tensor = described(driver, memory(a)[0], a, (-1,), (-1,), 8, 16)
    assert code == 0
    out = np.zeros((3, 16, 8), np.uint32)
    load(text).run("k", 3, 128, [Map.from_buffer_copy(tensor), out])
    expected = np.zeros((16, 8), np.uint32)
    for row, index in zip(expected, column(a.shape, (-1,), (-1,), 16, (1,) * 5, (-1, 1), (2,)), strict=True):  # fmt: skip
        if all(0 <= i < n for i, n in zip(index, a.shape, strict=False)):
            row[:] = a[index]
    assert (out[:2] == expected).all() and (out[2] == 0).all()


def test_descriptions_that_are_wrong(driver):
    a = np.zeros((2, 6, 7, 16), np.float32)
    right = {"lower": (-1, -1), "upper": (-1, -1), "channels": 16, "pixels": 48}
    assert described(driver, 1 << 32, a, **right)[0] == 0
    wrong = [
        {"lower": (-129, 0)}, {"upper": (0, 128)}, {"lower": (6, 0)}, {"upper": (0, -8)}, {"channels": 0}, {"channels": 257},
        {"channels": 6}, {"pixels": 0}, {"pixels": 1025}, {"steps": (1, 9, 1, 1, 1)}, {"steps": (1, 1, 0, 1, 1)}, {"swizzle": 1},
    ]  # fmt: skip
    for more in wrong:
        assert described(driver, 1 << 32, a, **{**right, **more})[0] == 1, more
    assert described(driver, (1 << 32) + 8, a, **right)[0] == 1
    assert described(driver, 1 << 32, a[0, 0], (), (), 16, 8)[0] == 1


def fault(module, rank, tensor, start):
    """In a process of its own: loads a column of zeros only."""
    module.run("k", 1, 64, [Map.from_buffer_copy(tensor), Map(), padded(start, (0,) * (rank - 2)), np.zeros(960, np.uint8)])  # fmt: skip


def fault_of(rank, make, start):
    """The error of `fault` in a process of its own, where `make` makes the map."""
    call = f"from ptx import test_columns as t; t.fault(module, {rank}, t.{make}(module.driver), {start})"
    done = ptx.in_child(kernel(rank, 960), call)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def zeros(driver, shape):
    a, at = np.zeros(shape, np.uint32), c_uint64()
    driver.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(a.nbytes))
    return at.value, a


def tile_of_three(driver):
    return encoded(driver, *zeros(driver, (4, 8, 16)), (8, 2, 2))[1]


def column_of_four(driver):
    return described(driver, *zeros(driver, (1, 4, 8, 16)), (0, 0), (0, 0), 4, 60)[1]


def column_inside_corners(driver):
    return described(driver, *zeros(driver, (3, 6, 7, 16)), (1, 1), (-2, -2), 4, 60)[1]


@pytest.mark.parametrize("make", ["tile_of_three", "column_of_four"])
def test_maps_of_another_kind_are_an_error(make):
    assert fault_of(3, make, (0, 0, 0)) == "code 715"


@pytest.mark.parametrize("start", [(0, 0, 1, 0), (0, 1, 0, 0), (0, 5, 1, 0), (0, 1, 4, 0)])
def test_places_that_a_column_does_not_begin_at(start):
    """Outside of the corners."""
    assert fault_of(4, "column_inside_corners", start) == "code 715"


def test_a_place_that_it_begins_at():
    assert fault_of(4, "column_inside_corners", (0, 1, 1, 0)) == ""
