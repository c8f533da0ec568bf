# ruff: noqa: E501 - PTX text is wide
"""Copies of tensors in the modes of compute capability 10.0, whose maps the driver makes: four rows,
wide columns, packed elements, swizzling by larger pieces, and mbarriers of a pair of blocks.
"""

import ctypes
import os
from ctypes import c_int, c_uint32, c_uint64, c_void_p

import numpy as np
import pytest

from . import device_process, gpu_tensor_map
from .native_kernels import last_fault
from .test_tensor import TYPES, Map

pytestmark = pytest.mark.skipif(
    "CUPOLA_TEST_DRIVER" in os.environ, reason="asks devices of several compute capabilities"
)
COVERED = """
cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes
cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes
cp.async.bulk.tensor.3d.shared::cta.global.im2col::w.mbarrier::complete_tx::bytes
cp.async.bulk.tensor.3d.shared::cluster.global.im2col::w.mbarrier::complete_tx::bytes
cp.async.bulk.tensor.3d.shared::cluster.global.im2col::w::128.mbarrier::complete_tx::bytes
cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes.cta_group::1
cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes.cta_group::1
cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.cta_group::1
cp.async.bulk.tensor.3d.shared::cluster.global.im2col::w.mbarrier::complete_tx::bytes.cta_group::1
cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes.multicast::cluster
cp.async.bulk.tensor.3d.shared::cluster.global.im2col::w.mbarrier::complete_tx::bytes.multicast::cluster
cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::1
cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::1
cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group
cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile::scatter4.bulk_group
cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4 cp.async.bulk.prefetch.tensor.3d.L2.global.im2col::w
tensormap.replace.tile.swizzle_atomicity.b1024.b32
"""
PACKED = {"16u4_align8b": 13, "16u4_align16b": 14, "16u6_align16b": 15}
WHERE = "shared::cluster.global"
DONE = "mbarrier::complete_tx::bytes"


def aligned():
    memory = ctypes.create_string_buffer(128 + 64)
    return memory, (ctypes.addressof(memory) + 63) // 64 * 64


def tiled(driver, address, kind, shape, strides, box, swizzle=0):
    """(result, map); axes are numbered from the innermost one."""
    _held, at = aligned()
    n = len(shape)
    code = driver.library.cuTensorMapEncodeTiled(
        c_void_p(at), c_int(kind), c_uint32(n), c_void_p(address), (c_uint64 * 5)(*shape), (c_uint64 * 5)(*strides),
        (c_uint32 * 5)(*box), (c_uint32 * 5)(*[1] * 5), c_int(0), c_int(swizzle), c_int(0), c_int(0),
    )  # fmt: skip
    return code, Map.from_buffer_copy(ctypes.string_at(at, 128))


def written(driver, address, kind, shape, strides, box, swizzle=0):
    """The same map in the layout of a GPU."""
    tensor = gpu_tensor_map.words(
        kind, address, shape, strides, box, [1] * 5, swizzle, newer=gpu_tensor_map.NEWER
    )
    return 0, Map.from_buffer_copy(tensor)


def wide(driver, address, a, lower, upper, channels, pixels, mode=0, step=1, swizzle=2):
    """(result, map) of an array in C order: images, then axes of pixels, channels innermost."""
    _held, at = aligned()
    sizes, strides = (c_uint64 * 5)(*reversed(a.shape)), (c_uint64 * 5)(*reversed(a.strides[:-1]))
    code = driver.library.cuTensorMapEncodeIm2colWide(
        c_void_p(at), c_int(TYPES[a.dtype.str[1:]]), c_uint32(a.ndim), c_void_p(address), sizes, strides, c_int(lower), c_int(upper),
        c_uint32(channels), c_uint32(pixels), (c_uint32 * 5)(1, step, 1, 1, 1), c_int(0), c_int(mode), c_int(swizzle), c_int(0), c_int(0),
    )  # fmt: skip
    return code, Map.from_buffer_copy(ctypes.string_at(at, 128))


def kernel(size, copy, store="", target="sm_100a", counted=None):
    """Copies a box, and then its bytes; %c and %h have the numbers. `store` follows.

    The barrier expects `counted` bytes, or all bytes of the box.
    """
    return f""".version 9.5\n.target {target}\n.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 pat, .param .u64 pout) {{
.shared .align 8 .b64 bar; .shared .align 1024 .b8 box[{size}];
.reg .b64 %rd<16>; .reg .b32 %r<16>; .reg .b32 %c<6>; .reg .b16 %h<4>; .reg .pred %p<4>;
mov.b64 %rd0, map; cvta.param.u64 %rd0, %rd0; ld.param.u64 %rd1, [pat]; ld.param.u64 %rd2, [pout];
{"".join(f"ld.global.u32 %c{n}, [%rd1+{4 * n}];" for n in range(5))} {"".join(f"ld.global.u16 %h{n}, [%rd1+{20 + 4 * n}];" for n in range(2))}
mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; @!%p0 bra READY;
mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;
mbarrier.arrive.expect_tx.shared.b64 _, [bar], {size if counted is None else counted};
{copy}
READY: bar.sync 0;
WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra WAIT;
mov.u32 %r1, %r0; mov.u32 %r2, box;
LOOP: setp.ge.u32 %p2, %r1, {size}; @%p2 bra DONE; add.u32 %r3, %r2, %r1; ld.shared.u8 %r4, [%r3]; cvt.u64.u32 %rd3, %r1; add.u64 %rd3, %rd2, %rd3;
st.global.u8 [%rd3], %r4; add.u32 %r1, %r1, 64; bra LOOP;
DONE: fence.proxy.async.shared::cta; bar.sync 0; @!%p0 bra END; {store} END: ret; }}"""


def numbers(coordinates, more=()):
    return np.array(
        [*coordinates, *[0] * (5 - len(coordinates)), *more, *[0] * (2 - len(more))], np.int32
    )


def run(text, make, a, coordinates, size, more=()):
    """(the result of the map's maker, the box, the tensor afterwards), in the process of a device."""
    driver = device_process.driver()
    at = c_uint64()
    driver.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(a.nbytes))
    try:
        driver.cuMemcpyHtoD_v2(at, c_void_p(a.ctypes.data), ctypes.c_size_t(a.nbytes))
        name, arguments = make
        code, tensor = globals()[name](driver, at.value, *arguments)
        if code:
            return code, None, None
        out = np.zeros(size, np.uint8)
        driver.load(text).run("k", 1, 64, [tensor, numbers(coordinates, more), out])
        back = np.empty_like(a)
        driver.cuMemcpyDtoH_v2(c_void_p(back.ctypes.data), at, ctypes.c_size_t(a.nbytes))
        return 0, out, back
    finally:
        driver.library.cuMemFree_v2(at)


def refused(text, make, a, coordinates, size, more=()):
    """The text of the fault."""
    import driver_abi

    try:
        run(text, make, a, coordinates, size, more)
    except driver_abi.DriverError:
        driver = device_process.driver()
        said = last_fault(driver)
        driver.reset()
        return said
    return ""


def placed(count, swizzle):
    """Where each byte of rows that follow each other lies, by the driver's number of a swizzle."""
    at = np.arange(count)
    if swizzle < 4:
        return at ^ ((at >> 7 & (1 << swizzle) - 1) << 4)
    if swizzle == 6:
        return at ^ ((at >> 7 & 1) << 6)
    return at ^ ((at >> 7 & 3) << 5) ^ ((at >> 7 & 1) << 3 if swizzle == 5 else 0)


ROWS = "{%c0, %c1, %c2, %c3, %c4}"


def gather(to="shared::cta", more=""):
    return f"cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4 [%rd0, {ROWS}]; cp.async.bulk.tensor.2d.{to}.global.tile::gather4.{DONE}{more} [box], [%rd0, {ROWS}], [bar];"


@pytest.mark.parametrize("swizzle", [0, 3])
@pytest.mark.parametrize(("to", "more"), [("shared::cta", ""), ("shared::cluster", ""), ("shared::cluster", ".cta_group::1"), ("shared::cta", ".cta_group::2")])  # fmt: skip
def test_four_rows_are_gathered(to, more, swizzle, newer_devices):
    a = np.random.default_rng(1).integers(1, 1000, (20, 64)).astype(np.uint32)
    text = kernel(512, gather(to, more))
    for column, *rows in [(0, 3, 3, 19, 0), (40, 7, -1, 20, 5), (-4, 1, 2, 30, 4)]:
        make = "tiled", (TYPES["u4"], (64, 20), (256,), (32, 1), swizzle)
        code, out, _ = newer_devices("10.0").run(run, text, make, a, (column, *rows), 512)
        assert code == 0
        expected = np.zeros((4, 32), np.uint32)
        for n, row in enumerate(rows):
            for k in range(32):
                if 0 <= row < 20 and 0 <= column + k < 64:
                    expected[n, k] = a[row, column + k]
        assert (out[placed(512, swizzle)].view(np.uint32) == expected.reshape(-1)).all()


@pytest.mark.parametrize("operation", ["", "add", "max"])
def test_four_rows_are_scattered(operation, newer_devices):
    a = np.random.default_rng(2).integers(1, 1000, (20, 64)).astype(np.uint32)
    name = f"cp.{'reduce.' if operation else ''}async.bulk.tensor.2d.global.shared::cta.{operation + '.' if operation else ''}tile::scatter4.bulk_group"
    store = f"mov.b32 %c1, 9; mov.b32 %c2, 20; mov.b32 %c3, 0; mov.b32 %c4, 9; {name} [%rd0, {ROWS}], [box]; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
    text = kernel(512, gather(), store)
    make = "tiled", (TYPES["u4"], (64, 20), (256,), (32, 1))
    code, _, back = newer_devices("10.0").run(run, text, make, a, (40, 5, 6, 7, 8), 512)
    assert code == 0
    expected = a.copy()
    for source, row in [
        (5, 9),
        (7, 0),
        (8, 9),
    ]:  # the row 20 is outside, and so are the columns from 64 on
        part = a[source, 40:64]
        old = expected[row, 40:64]
        expected[row, 40:64] = (
            old + part if operation == "add" else np.maximum(old, part) if operation else part
        )
    assert (back == expected).all()


def wide_pixels(shape, lower, upper, start, step, pixels, halo, offset, mode):
    """The (image, w) of each row of the box."""
    w, image = start + offset, 0
    first, end = lower + offset, shape[1] + upper + offset

    def ahead(w, image):
        w += step
        return (w, image) if w < end else (first, image + 1)

    found, at = [], (w, image)
    period = 32 if mode else pixels
    for n in range(128 if mode else pixels):
        found.append(at)
        at = ahead(*at)
        if (n + 1) % period == 0:
            more = at
            for _ in range(halo):
                found.append(more)
                more = ahead(*more)
    return found


@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize(("lower", "upper", "start", "step", "halo", "offset"), [(0, 0, 2, 1, 2, 0), (-1, 0, -1, 2, 1, 0), (-1, -1, -3, 3, 0, 1), (0, -2, 6, 1, 5, 2)])  # fmt: skip
def test_wide_columns(mode, lower, upper, start, step, halo, offset, newer_devices):
    """One row of pixels of each image; the halo pixels follow."""
    a = np.random.default_rng(3).integers(1, 1000, (4, 6, 9, 32)).astype(np.uint16)
    pixels = 40
    rows = 128 + 4 * halo if mode else pixels + halo
    size = rows * 64
    name = "im2col::w::128" if mode else "im2col::w"
    corner = "{%c0, %c1, %c2, %c3}"
    copy = f"cp.async.bulk.prefetch.tensor.4d.L2.global.{name} [%rd0, {corner}], {{%h0, %h1}}; cp.async.bulk.tensor.4d.{WHERE}.{name}.{DONE} [box], [%rd0, {corner}], [bar], {{%h0, %h1}};"
    make = "wide", (a, lower, upper, 32, pixels, mode, step)
    code, out, _ = newer_devices("10.0").run(
        run, kernel(size, copy), make, a, (0, start, 4, 0), size, (halo, offset)
    )
    assert code == 0
    expected = np.zeros((rows, 32), np.uint16)
    found = wide_pixels((4, 9), lower, upper, start, step, pixels, halo, offset, mode)
    for row, (w, image) in zip(expected, found, strict=True):
        if 0 <= w < 9 and image < 4:
            row[:] = a[image, 4, w]
    assert (out[placed(size, 2)].view(np.uint16) == expected.reshape(-1)).all()


TILE = f"cp.async.bulk.tensor.2d.{WHERE}.tile.{DONE} [box], [%rd0, {{%c0, %c1}}], [bar];"


@pytest.mark.parametrize(
    ("maker", "swizzle"), [*(("tiled", n) for n in range(3, 7)), ("written", 3), ("written", 4)]
)
def test_larger_pieces_are_swizzled(maker, swizzle, newer_devices):
    a = np.random.default_rng(4).integers(0, 256, (16, 256)).astype(np.uint8)
    make = maker, (TYPES["u1"], (256, 16), (256,), (128, 12), swizzle)
    code, out, _ = newer_devices("10.0").run(run, kernel(1536, TILE), make, a, (64, 2), 1536)
    assert code == 0
    assert (out[placed(1536, swizzle)] == a[2:14, 64:192].reshape(-1)).all()


@pytest.mark.parametrize(("name", "bits", "swizzle"), [("16u4_align8b", 4, 0), ("16u4_align16b", 4, 4), ("16u6_align16b", 6, 3)])  # fmt: skip
@pytest.mark.parametrize("maker", ["tiled", "written"])
def test_packed_elements(maker, name, bits, swizzle, newer_devices):
    """Elements are counted; in shared memory, padding follows each sixteen of two of the types."""
    row = 256 * bits // 8
    a = np.random.default_rng(5).integers(0, 256, (8, row)).astype(np.uint8)
    make = maker, (PACKED[name], (256, 8), (row,), (128, 4), swizzle)
    padded = name != "16u4_align8b"
    size = 4 * (128 if padded else 64)
    # An mbarrier does not count padding.
    text = kernel(size, TILE, counted=4 * 128 * bits // 8)
    code, out, _ = newer_devices("10.0").run(run, text, make, a, (128, 2), size)
    assert code == 0
    part = a[2:6, row // 2 :]
    if padded:
        groups = part.reshape(4, 8, 2 * bits)
        part = np.concatenate([groups, np.zeros((4, 8, 16 - 2 * bits), np.uint8)], 2)
    assert (out[placed(size, swizzle)] == part.reshape(-1)).all()


def test_bytes_are_packed_to_six_bits(newer_devices):
    """A store takes the lower six bits of each byte."""
    a = np.random.default_rng(6).integers(0, 256, (4, 96)).astype(np.uint8)
    store = "mov.b32 %c1, 1; cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd0, {%c0, %c1}], [box]; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
    make = "tiled", (PACKED["16u6_align16b"], (128, 4), (96,), (128, 1))
    text = kernel(128, TILE, store, counted=96)
    code, out, back = newer_devices("10.0").run(run, text, make, a, (0, 3), 128)
    assert code == 0
    joined = np.packbits(
        np.unpackbits(out[:, None], axis=1, bitorder="little")[:, :6].reshape(-1), bitorder="little"
    )
    expected = a.copy()
    expected[1] = joined
    assert (back == expected).all()


def test_a_map_is_changed(newer_devices):
    """The pieces of the swizzle, and a packed type, by tensormap.replace."""
    a = np.random.default_rng(7).integers(0, 256, (8, 128)).astype(np.uint8)
    change = "cvta.to.global.u64 %rd4, %rd2; add.u64 %rd4, %rd4, 1024;"
    copy = "".join(
        f"ld.param.b64 %rd5, [map+{8 * n}]; st.global.b64 [%rd4+{8 * n}], %rd5;" for n in range(16)
    )
    text = kernel(
        1024,
        f"{change} {copy} tensormap.replace.tile.swizzle_atomicity.global.b1024.b32 [%rd4], 1; mov.b64 %rd0, %rd4; {TILE}",
    )
    make = "tiled", (TYPES["u1"], (128, 8), (128,), (128, 8), 3)
    code, out, _ = newer_devices("10.0").run(run, text, make, a, (0, 0), 2048)
    assert code == 0
    assert (out[:1024][placed(1024, 4)] == a.reshape(-1)).all()


def in_96_bytes(width):
    """A kernel that sets swizzling in 96 bytes, and loads eight rows of a width."""
    change = "cvta.to.global.u64 %rd4, %rd2; add.u64 %rd4, %rd4, 1024;"
    copy = "".join(
        f"ld.param.b64 %rd5, [map+{8 * n}]; st.global.b64 [%rd4+{8 * n}], %rd5;" for n in range(16)
    )
    mode = "tensormap.replace.tile.swizzle_mode.global.b1024.b32 [%rd4], 4; mov.b64 %rd0, %rd4;"
    return kernel(8 * width, f"{change} {copy} {mode} {TILE}", target="sm_103a")


@pytest.mark.parametrize("width", [32, 96])
def test_swizzling_in_96_bytes(width, newer_devices):
    """Pieces of 16 bytes change places every second row of 128 bytes."""
    a = np.random.default_rng(8).integers(0, 256, (8, 128)).astype(np.uint8)
    make = "tiled", (TYPES["u1"], (128, 8), (128,), (width, 8))
    code, out, _ = newer_devices("10.3").run(run, in_96_bytes(width), make, a, (0, 0), 2048)
    assert code == 0
    assert (out[: 8 * width][placed(8 * width, 1)] == a[:, :width].reshape(-1)).all()


def test_rows_that_are_too_long_for_96_bytes(newer_devices):
    make = "tiled", (TYPES["u1"], (128, 8), (128,), (112, 8))
    a = np.zeros((8, 128), np.uint8)
    said = newer_devices("10.3").run(refused, in_96_bytes(112), make, a, (0, 0), 2048)
    assert "a row of at most 96 bytes" in said


MULTICAST = """.version 9.5\n.target sm_100a\n.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 pat, .param .u64 pout) .explicitcluster .reqnctapercluster 4 {
.shared .align 8 .b64 bar; .shared .align 128 .b8 box[128];
.reg .b64 %rd<16>; .reg .b32 %r<16>; .reg .b16 %h<4>; .reg .pred %p<4>;
mov.b64 %rd0, map; cvta.param.u64 %rd0, %rd0; ld.param.u64 %rd2, [pout];
mov.u32 %r0, %tid.x; mov.u32 %r1, %cluster_ctarank; setp.eq.u32 %p0, %r0, 0;
@%p0 mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
barrier.cluster.arrive; barrier.cluster.wait;
setp.eq.and.u32 %p1, %r1, RANK, %p0; mov.u32 %r4, 0; mov.u16 %h0, 13; mov.u32 %r2, box; mov.u32 %r3, bar; mapa.shared::cluster.u32 %r3, %r3, OWNER;
@%p1 cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::2 [%r2], [%rd0, {%r4}], [%r3], %h0;
barrier.cluster.arrive; barrier.cluster.wait;
@!%p0 bra END; mul.wide.u32 %rd3, %r1, 16; add.u64 %rd2, %rd2, %rd3; ld.shared.u32 %r5, [box+4]; ld.shared.b64 %rd4, [bar];
st.global.u32 [%rd2], %r5; st.global.b64 [%rd2+8], %rd4; END: ret; }"""


@pytest.mark.parametrize(
    ("rank", "owner", "counting"), [(0, 0, (0, 2)), (1, 1, (1, 3)), (2, 3, (1, 3))]
)
def test_bytes_count_in_blocks_of_one_parity(rank, owner, counting, newer_devices):
    """Blocks 0, 2 and 3 get the box. Of each pair, the block of the mbarrier's parity counts."""
    driver_text = MULTICAST.replace("RANK", str(rank)).replace("OWNER", str(owner))
    words = newer_devices("10.0").run(sent, driver_text)
    assert [w[0] for w in words] == [7, 0, 7, 7]
    plain = min(int(w[1]) for n, w in enumerate(words) if n not in counting)
    for n, (_, bar) in enumerate(words):
        assert (int(bar) != plain) == (n in counting), words
    received = {n: sum(1 for block in (0, 2, 3) if block // 2 == n // 2) for n in counting}
    changed = {n: int(words[n][1]) for n in counting}
    assert (len(set(changed.values())) == 1) == (len(set(received.values())) == 1)


def sent(text):
    driver = device_process.driver()
    a, at = np.full(64, 7, np.uint32), c_uint64()
    driver.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(a.nbytes))
    driver.cuMemcpyHtoD_v2(at, c_void_p(a.ctypes.data), ctypes.c_size_t(a.nbytes))
    code, tensor = tiled(driver, at.value, TYPES["u4"], (64,), (), (32,))
    assert code == 0
    out = np.zeros(8, np.uint64)
    driver.load(text).run("k", 4, 32, [tensor, np.zeros(1, np.uint32), out])
    driver.library.cuMemFree_v2(at)
    return [(int(x) & 0xFFFFFFFF, int(y)) for x, y in out.reshape(4, 2)]


U4 = TYPES["u4"]


@pytest.mark.parametrize(("make", "copy", "coordinates", "more", "said"), [
    (("tiled", (U4, (64, 20), (256,), (32, 2))), gather(), (0, 1, 2, 3, 4), (), "a box of one row"),
    (("tiled", (U4, (64, 20), (256,), (32, 1))), gather(), (1, 1, 2, 3, 4), (), "a multiple of 16 bytes"),
    (("tiled", (PACKED["16u6_align16b"], (128, 4), (96,), (128, 1))), TILE, (64, 0), (), "a multiple of 128 elements"),
], ids=["rows", "place", "padding"])  # fmt: skip
def test_hostile_tiles(make, copy, coordinates, more, said, newer_devices):
    a = np.zeros((20, 64), np.uint32)
    assert said in newer_devices("10.0").run(
        refused, kernel(512, copy), make, a, coordinates, 512, more
    )


@pytest.mark.parametrize(("start", "more", "name", "said"), [
    (9, (0, 0), "im2col::w", "right of the bounding box"), (0, (512, 0), "im2col::w", "number of halo pixels"), (0, (0, 32), "im2col::w", "is not below 32"),
    (0, (0, 0), "im2col::w::128", "not of the instruction's im2col mode"),
])  # fmt: skip
def test_hostile_columns(start, more, name, said, newer_devices):
    a = np.zeros((4, 6, 9, 32), np.uint16)
    copy = f"cp.async.bulk.tensor.4d.{WHERE}.{name}.{DONE} [box], [%rd0, {{%c0, %c1, %c2, %c3}}], [bar], {{%h0, %h1}};"
    make = "wide", (a, 0, 0, 32, 40)
    assert said in newer_devices("10.0").run(
        refused, kernel(4096, copy), make, a, (0, start, 0, 0), 4096, more
    )


def makers(kind, shape, strides, box, swizzle):
    return tiled(device_process.driver(), 1 << 32, kind, shape, strides, box, swizzle)[0]


@pytest.mark.parametrize(("capability", "arguments", "code"), [
    ("9.0", (0, (256, 8), (256,), (128, 4), 4), 801), ("9.0", (PACKED["16u4_align8b"], (256, 8), (128,), (128, 4), 0), 801),
    ("10.0", (0, (256, 8), (256,), (128, 4), 4), 0), ("10.0", (0, (256, 8), (256,), (144, 4), 4), 1),
    ("10.0", (PACKED["16u6_align16b"], (256, 8), (192,), (64, 4), 0), 1), ("10.0", (PACKED["16u6_align16b"], (192, 8), (144,), (128, 4), 0), 1),
    ("10.0", (PACKED["16u4_align16b"], (256, 8), (128,), (128, 4), 6), 1), ("10.0", (PACKED["16u6_align16b"], (256, 8), (192,), (128, 4), 6), 0),
    ("10.0", (PACKED["16u4_align8b"], (255, 8), (128,), (128, 4), 0), 1), ("10.0", (0, (256, 8), (256,), (128, 4), 7), 801),
])  # fmt: skip
def test_makers_check_their_arguments(capability, arguments, code, newer_devices):
    assert newer_devices(capability).run(makers, *arguments) == code


def test_any_order_of_modifiers(newer_devices):
    """As CUTLASS writes them."""
    texts = [
        "cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [box], [%rd0, {%c0, %c1}], [bar], %rd4;",
        "cp.async.bulk.tensor.2d.tile::gather4.shared::cluster.global.mbarrier::complete_tx::bytes [box], [%rd0, {%c0, %c1, %c2, %c3, %c4}], [bar];",
        "cp.async.bulk.tensor.mbarrier::complete_tx::bytes.shared::cta.global.1d [box], [%rd0, {%c0}], [bar];",
    ]
    for each in texts:
        assert newer_devices("10.0").run(loaded, kernel(512, each)) == ""


def loaded(text):
    import driver_abi

    try:
        device_process.driver().load(text).unload()
    except driver_abi.DriverError as error:
        return error.log
    return ""
