# ruff: noqa: E501 - PTX text is wide
"""Reductions of a tensor's tiles, and tensor maps that kernels change."""

from ctypes import c_uint64

import driver_abi
import numpy as np
import pytest

from .test_tensor import Map, encoded

COVERED = """
cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group
tensormap.replace.tile.global_address.b1024.b64 tensormap.replace.tile.rank.b1024.b32
tensormap.replace.tile.box_dim.b1024.b32 tensormap.replace.tile.global_dim.b1024.b32
tensormap.replace.tile.global_stride.b1024.b64 tensormap.replace.tile.element_stride.b1024.b32
tensormap.replace.tile.elemtype.b1024.b32 tensormap.replace.tile.interleave_layout.b1024.b32
tensormap.replace.tile.swizzle_mode.b1024.b32 tensormap.replace.tile.fill_mode.b1024.b32
tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.cta.sync.aligned
"""


def reduction(op, size):
    """Joins box's bytes, which come from memory, with the tile at (8, 2)."""
    return f""".version 8.6\n.target sm_90\n.address_size 64
    .visible .entry k(.param .align 64 .b8 map[128], .param .u64 pbox) {{
    .shared .align 128 .b8 box[{size}]; .reg .b64 %rd<8>; .reg .b32 %r<8>; .reg .pred %p<2>;
    mov.b64 %rd0, map; cvta.param.u64 %rd0, %rd0; ld.param.u64 %rd1, [pbox]; cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r0, %tid.x; mov.u32 %r1, box; mov.u32 %r4, 8; mov.u32 %r5, 2;
    shl.b32 %r2, %r0, 2; LOOP: add.u32 %r3, %r1, %r2; cvt.u64.u32 %rd2, %r2; add.u64 %rd2, %rd1, %rd2; ld.global.u32 %r6, [%rd2]; st.shared.u32 [%r3], %r6;
    add.u32 %r2, %r2, 256; setp.lt.u32 %p0, %r2, {size}; @%p0 bra LOOP;
    fence.proxy.async.shared::cta; bar.sync 0; setp.ne.u32 %p0, %r0, 0; @%p0 bra END;
    cp.reduce.async.bulk.tensor.2d.global.shared::cta.{op}.tile.bulk_group [%rd0, {{%r4, %r5}}], [%r1];
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; END: ret; }}"""


JOINED = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "inc": lambda x, y: np.where(x >= y, 0, x + np.uint32(1)),
    "dec": lambda x, y: np.where((x == 0) | (x > y), y, x - np.uint32(1)),
}  # fmt: skip
REDUCTIONS = [
    *((op, kind) for op in ("add", "min", "max", "and", "or", "xor") for kind in ("u4", "i4", "u8")),
    *((op, "i8") for op in ("min", "max")), *((op, "f2") for op in ("add", "min", "max")),
    ("add", "f4"), ("add", "f8"), ("inc", "u4"), ("dec", "u4"),
]  # fmt: skip


@pytest.mark.parametrize(("op", "kind"), REDUCTIONS)
def test_reductions(op, kind, load, driver, memory):
    rng = np.random.default_rng(5)
    # The box goes beyond the tensor's end on both axes.
    a = rng.integers(0, 100, (8, 16)).astype(kind)
    wide = 16 // a.itemsize * 4
    b = rng.integers(0, 100, (8, wide)).astype(kind)
    if kind[0] == "i":
        a, b = a - 50, b - 50
    at, read = memory(a)
    code, tensor = encoded(driver, at, a, (wide, 8))
    assert code == 0
    load(reduction(op, b.nbytes)).run("k", 1, 64, [Map.from_buffer_copy(tensor), b])
    expected = a.copy()
    rows, columns = 8 - 2, min(wide, 16 - 8)
    expected[2:, 8 : 8 + columns] = JOINED[op](a[2:, 8 : 8 + columns], b[:rows, :columns])
    assert (read() == expected).all()


@pytest.mark.parametrize(("op", "kind"), [("add", "u2"), ("inc", "i4"), ("and", "i8"), ("xor", "f4"), ("min", "f8")])  # fmt: skip
def test_what_has_no_reduction(op, kind, load, driver, memory):
    driver.skip_on_hardware("a fault there is the end of the process's context")
    a = np.zeros((8, 16), kind)
    _, tensor = encoded(driver, memory(a)[0], a, (32 // a.itemsize, 8))
    with pytest.raises(driver_abi.DriverError) as error:
        load(reduction(op, 256)).run("k", 1, 64, [Map.from_buffer_copy(tensor), np.zeros(256, np.uint8)])  # fmt: skip
    driver.reset()
    assert error.value.code == 715


def changing(changes, rank, size):
    """Copies a map to shared memory, changes it there, puts it to global memory, and loads a tile by it."""
    corner = ", ".join(["%r5", "%r6"][:rank])
    return f""".version 8.6\n.target sm_90a\n.address_size 64
    .visible .entry k(.param .u64 pmap, .param .u64 pto, .param .u64 pother, .param .u64 pout) {{
    .shared .align 128 .b8 map[128]; .shared .align 8 .b64 bar; .shared .align 1024 .b8 box[{size}];
    .reg .b64 %rd<12>; .reg .b32 %r<12>; .reg .pred %p<4>;
    ld.param.u64 %rd0, [pmap]; ld.param.u64 %rd1, [pto]; ld.param.u64 %rd2, [pother]; ld.param.u64 %rd3, [pout];
    cvta.to.global.u64 %rd0, %rd0; cvta.to.global.u64 %rd6, %rd1; cvta.to.global.u64 %rd3, %rd3;
    mov.u32 %r0, %tid.x; mov.u32 %r1, map; shl.b32 %r2, %r0, 2; add.u32 %r3, %r1, %r2; cvt.u64.u32 %rd4, %r2; add.u64 %rd5, %rd0, %rd4; ld.global.u32 %r4, [%rd5]; st.shared.u32 [%r3], %r4;
    mov.u32 %r5, 4; mov.u32 %r6, 1; mov.u32 %r7, box; setp.ne.u32 %p0, %r0, 0; bar.warp.sync -1; @%p0 bra CHANGED;
    {changes}
    CHANGED: bar.warp.sync -1; tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd6], [%r1], 128;
    @%p0 bra READY; fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;
    mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;
    mbarrier.arrive.expect_tx.shared.b64 _, [bar], {size};
    cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [box], [%rd1, {{{corner}}}], [bar];
    READY: bar.warp.sync -1; WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra WAIT;
    LOOP: setp.ge.u32 %p2, %r2, {size}; @%p2 bra END; add.u32 %r3, %r7, %r2; ld.shared.u32 %r4, [%r3]; cvt.u64.u32 %rd4, %r2; add.u64 %rd4, %rd3, %rd4;
    st.global.u32 [%rd4], %r4; add.u32 %r2, %r2, 128; bra LOOP; END: ret; }}"""


def change(field, *operands):
    kind = "b64" if field in ("global_address", "global_stride") else "b32"
    return f"tensormap.replace.tile.{field}.shared::cta.b1024.{kind} [%r1], {', '.join(map(str, operands))};"


# Changes of the map: the fields, and the expected tile at (4, 1) of the other array.
CHANGES = {
    "address": ([("global_address", "%rd2")], lambda b: b[1:5, 4:12]),
    "sizes": ([("global_dim", 0, 8), ("global_dim", 1, 3)], lambda b: np.pad(b[1:3, 4:8], ((0, 2), (0, 4)))),
    "box": ([("box_dim", 0, 16), ("box_dim", 1, 2)], lambda b: b[1:3, 4:20]),
    "stride": ([("global_stride", 0, 256)], lambda b: b[2:10:2, 4:12]),
    "steps": ([("element_stride", 1, 2), ("box_dim", 1, 8)], lambda b: b[1:9:2, 4:12]),
    "rank": ([("rank", 0), ("box_dim", 0, 32)], lambda b: np.pad(b[0, 4:], (0, 4))),
    "type": ([("elemtype", 7), ("fill_mode", 1), ("global_dim", 0, 8)], lambda b: np.pad(b[1:5, 4:8], ((0, 0), (0, 4)), constant_values=0x7FF77FF7)),
    "swizzle": ([("swizzle_mode", 1), ("interleave_layout", 0)], lambda b: b[1:5, 4:12]),
}  # fmt: skip


def changed_tile(which, load, memory, make):
    """The tile after changes, and the expected one. `make`: a map of an array at an address."""
    changes, tile = CHANGES[which]
    a, b = np.zeros((20, 32), np.uint32), np.arange(640, dtype=np.uint32).reshape(20, 32)
    there, _ = memory(a)
    other, _ = memory(b)
    tensor = make(there, a)
    fields = [("global_address", "%rd2"), *(c for c in changes if c[0] != "global_address")]
    rank = 1 if which == "rank" else 2
    text = changing("\n".join(change(*c) for c in fields), rank, 128)
    map_at, _ = memory(np.frombuffer(tensor, np.uint8))
    to_at, _ = memory(np.zeros(128, np.uint8))
    out = np.zeros(32, np.uint32)
    load(text).run("k", 1, 32, [c_uint64(map_at), c_uint64(to_at), c_uint64(other), out])
    expected = tile(b).reshape(-1)
    if which == "swizzle":  # pieces of 16 bytes change places every second row of 128
        at = np.arange(128)
        expected = expected.view(np.uint8)[np.argsort(at ^ (at >> 7 & 1) << 4)].view(np.uint32)
    return out, expected


@pytest.mark.parametrize("which", CHANGES)
def test_changed_maps(which, load, driver, memory):
    def make(address, a):
        code, tensor = encoded(driver, address, a, (8, 4))
        assert code == 0
        return tensor

    out, expected = changed_tile(which, load, memory, make)
    assert (out == expected).all()


def test_a_map_changed_in_global_memory(load, driver, memory):
    a = np.arange(64, dtype=np.uint32)
    there, _ = memory(a)
    _, tensor = encoded(driver, there, a, (16,))
    at, read = memory(np.frombuffer(tensor, np.uint8))
    text = """.version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 pmap) {
    .reg .b64 %rd<2>; ld.param.u64 %rd0, [pmap]; cvta.to.global.u64 %rd1, %rd0;
    tensormap.replace.tile.global_dim.global.b1024.b32 [%rd1], 0, 32; tensormap.replace.tile.box_dim.b1024.b32 [%rd0], 0, 8; ret; }"""
    load(text).run("k", 1, 1, [c_uint64(at)])
    code, expected = encoded(driver, there, a[:32], (8,))
    assert code == 0
    # NVIDIA's driver writes more of the size than the instruction changes, in the second half.
    size = 64 if driver.on_hardware else 128
    assert read().tobytes()[:size] == expected[:size]


@pytest.mark.parametrize("text", [
    "tensormap.replace.tile.elemtype.global.b1024.b32 [%rd1], %r1;", "tensormap.replace.tile.elemtype.global.b1024.b32 [%rd1], 13;",
    "tensormap.replace.tile.swizzle_mode.global.b1024.b32 [%rd1], 4;", "tensormap.replace.tile.fill_mode.global.b1024.b32 [%rd1], 2;",
    "tensormap.replace.tile.global_dim.global.b1024.b32 [%rd1], 5, %r1;", "tensormap.replace.tile.global_dim.global.b1024.b64 [%rd1], 1, %rd2;",
    "tensormap.replace.tile.box_dim.global.b1024.b32 [%rd1], %r1, %r1;", "tensormap.replace.tile.swizzle_atomicity.global.b1024.b32 [%rd1], 1;",
    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd1], [%rd2], 64;",
])  # fmt: skip
def test_changes_that_are_refused(text, driver):
    kernel = f".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k() {{ .reg .b64 %rd<4>; .reg .b32 %r<4>; {text} ret; }}\n"
    with pytest.raises(driver_abi.DriverError) as error:
        driver.load(kernel)
    assert error.value.code == driver_abi.INVALID_PTX


@pytest.mark.parametrize("wrong", [
    [("rank", 5)], [("box_dim", 0, 0)], [("box_dim", 0, 257)], [("box_dim", 0, 3)], [("interleave_layout", 1)],
    [("element_stride", 1, 0)],
])  # fmt: skip
def test_maps_that_are_wrong_are_found_when_used(wrong, load, driver, memory):
    driver.skip_on_hardware("a fault there is the end of the process's context")
    a = np.zeros((20, 32), np.uint32)
    at, _ = memory(a)
    _, tensor = encoded(driver, at, a, (8, 4))
    map_at, _ = memory(np.frombuffer(tensor, np.uint8))
    to_at, _ = memory(np.zeros(128, np.uint8))
    module = load(changing("\n".join(change(*c) for c in wrong), 2, 128))
    with pytest.raises(driver_abi.DriverError) as error:
        module.run("k", 1, 32, [c_uint64(map_at), c_uint64(to_at), c_uint64(at), np.zeros(32, np.uint32)])  # fmt: skip
    driver.reset()
    assert error.value.code == 715
