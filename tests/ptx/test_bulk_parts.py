# ruff: noqa: E501 - PTX text is wide
"""Bulk copies of a part of the bytes, and asynchronous stores and reductions of global memory."""

import os

import numpy as np
import pytest

from . import device_process
from .native_kernels import last_fault

pytestmark = pytest.mark.skipif(
    "CUPOLA_TEST_DRIVER" in os.environ, reason="asks devices of several compute capabilities"
)
COVERED = """
cp.async.bulk.global.shared::cta.bulk_group.cp_mask cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.cp_mask
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob
multimem.cp.async.bulk.global.shared::cta.bulk_group multimem.cp.async.bulk.global.shared::cta.bulk_group.cp_mask
multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16
multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.min.u32 multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.inc.u32
multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.and.b32 cp.async.bulk.wait_group.sync_restrict::proxy::async
st.async.release.gpu.b32 red.async.relaxed.gpu.add.u32 red.async.relaxed.gpu.min.u32 red.async.relaxed.gpu.inc.u32 red.async.relaxed.gpu.and.b32
multimem.ld_reduce.add.e4m3x4 multimem.ld_reduce.add.v2.e4m3x4 multimem.ld_reduce.add.v2.e4m3x2 multimem.ld_reduce.add.v4.e4m3
multimem.ld_reduce.min.e4m3x4 multimem.ld_reduce.min.v2.e4m3x4 multimem.ld_reduce.min.v2.e4m3x2 multimem.ld_reduce.min.v4.e4m3
multimem.st.e4m3x4 multimem.st.v2.e4m3x4 multimem.st.v2.e4m3x2 multimem.st.v4.e4m3 fence.alias.sync_restrict::read.release.sys
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.b128 cp.async.bulk.relaxed.cta.shared::cta.global.mbarrier::complete_tx::bytes.b128
cp.async.bulk.relaxed.cta.shared::cluster.global.mbarrier::complete_tx::bytes.b128 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.b128
cp.async.bulk.relaxed.cta.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.b128 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.b128
cp.async.bulk.global.shared::cta.bulk_group.b128 cp.async.bulk.global.shared::cta.bulk_group.cp_mask.b128 cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.cp_mask.b128
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob.b128 multimem.cp.async.bulk.global.shared::cta.bulk_group.b128
multimem.cp.async.bulk.global.shared::cta.bulk_group.cp_mask.b128
st.async.mbarrier::complete_tx::bytes.b128 st.async.cluster.mbarrier::complete_tx::bytes.b128 st.async.cluster.mbarrier::complete_tx::bytes.b64
"""


def kernel(body, target="sm_100a"):
    """One thread; %rd0 and %rd1 are arrays, and 64 bytes of the first are in `cells`."""
    return f""".version 9.5
.target {target}
.address_size 64
.visible .entry k(.param .u64 pa, .param .u64 pb) {{
.shared .align 16 .b8 cells[64]; .shared .align 8 .b64 bar;
.reg .b64 %rd<16>; .reg .b32 %r<16>; .reg .b16 %h<8>; .reg .b8 %c<4>; .reg .f32 %f<4>; .reg .pred %p<4>;
ld.param.u64 %rd0, [pa]; ld.param.u64 %rd1, [pb]; mov.u32 %r1, cells;
{"".join(f"ld.global.b64 %rd2, [%rd0+{8 * n}]; st.shared.b64 [%r1+{8 * n}], %rd2;" for n in range(8))}
fence.proxy.async; {body} ret; }}"""


def run(text, a, b):
    device_process.driver().load(text).run("k", 1, 1, [a, b])
    return a, b


DONE = "cp.async.bulk.commit_group; cp.async.bulk.wait_group.sync_restrict::proxy::async 0;"


@pytest.mark.parametrize("copy", [
    "cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd1], [%r1], 64, %h0;",
    "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.cp_mask [%rd1], [%r1], 64, %rd3, %h0;",
    "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.cp_mask.b128 [%rd1], [%r1], 64, %rd3, %h0;",
    "multimem.cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd1], [%r1], 64, %h0;",
])  # fmt: skip
@pytest.mark.parametrize("mask", [0, 1, 0x8001, 0xA5F0, 0xFFFF])
def test_bytes_by_a_mask(copy, mask, newer_devices):
    a, b = np.arange(64, dtype=np.uint8), np.full(64, 200, np.uint8)
    create = "createpolicy.fractional.L2::evict_first.b64 %rd3, 1.0;"
    _, got = newer_devices("10.0").run(
        run, kernel(f"{create} mov.u16 %h0, {mask}; {copy} {DONE}"), a, b
    )
    copied = np.array([mask >> n % 16 & 1 for n in range(64)], bool)
    assert (got == np.where(copied, a, 200)).all()


@pytest.mark.parametrize(("operation", "kind"), [("add.u32", "u4"), ("max.s32", "i4"), ("inc.u32", "u4"), ("xor.b64", "u8"), ("add.f32", "f4"), ("add.noftz.f16", "f2")])  # fmt: skip
def test_multimem_reduces_bulks(operation, kind, newer_devices):
    a = np.arange(1, 64 // np.dtype(kind).itemsize + 1).astype(kind)
    b = a[::-1].copy()
    copy = f"multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.{operation} [%rd1], [%r1], 64;"
    _, got = newer_devices("10.0").run(run, kernel(copy + DONE), a, b.copy())
    name = operation.split(".")[0]
    expected = {"add": b + a, "max": np.maximum(a, b), "inc": np.where(b >= a, 0, b + 1), "xor": a.view("u1").copy() if kind[0] == "f" else a ^ b if name == "xor" else b}[name]  # fmt: skip
    assert (got == expected).all()


def test_multimem_copies(newer_devices):
    a, b = np.arange(64, dtype=np.uint8), np.zeros(64, np.uint8)
    copy = "multimem.cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 48;"
    _, got = newer_devices("10.0").run(run, kernel(copy + DONE), a, b)
    assert (got == np.where(np.arange(64) < 48, a, 0)).all()


INSIDE = """mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.expect_tx.shared.b64 _, [bar], {size}; mov.u32 %r4, {left}; mov.u32 %r5, {right};
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob{unit} [%r1], [%rd1+{at}], {size}, %r4, %r5, [bar];
WAIT: mbarrier.try_wait.parity.shared.b64 %p0, [bar], 0; @!%p0 bra WAIT;"""
OUT = "".join(
    f"ld.shared.b64 %rd2, [%r1+{8 * n}]; st.global.b64 [%rd0+{8 * n}], %rd2;" for n in range(8)
)


@pytest.mark.parametrize(("at", "size", "left", "right"), [(0, 64, 0, 3), (32, 32, 0, 15), (0, 48, 15, 0), (16, 32, 5, 7), (0, 16, 9, 9), (0, 0, 0, 0)])  # fmt: skip
@pytest.mark.parametrize("unit", ["", ".b128"])
def test_bytes_out_of_bounds_are_left_out(unit, at, size, left, right, newer_devices):
    """The array has 61 bytes; of the copy, `left` and `right` bytes stay as they were."""
    a, b = np.full(64, 200, np.uint8), np.arange(1, 62, dtype=np.uint8)
    text = kernel(INSIDE.format(at=at, size=size, left=left, right=right, unit=unit) + OUT)
    got, _ = newer_devices("10.0").run(run, text, a, b)
    expected = np.full(64, 200, np.uint8)
    expected[left : max(size - right, left)] = b[at + left : max(at + size - right, at + left)]
    assert (got == expected).all()


@pytest.mark.parametrize(("value", "kind", "store"), [
    ("mov.u32 %r4, 77;", "u4", "st.async.release.gpu.global.u32 [%rd1], %r4;"), ("mov.u64 %rd4, 0x1122334455667788;", "u8", "st.async.mmio.release.sys.b64 [%rd1], %rd4;"),
    ("mov.u16 %h1, 0x1234;", "u2", "st.async.release.sys.global.b16 [%rd1], %h1;"), ("mov.f32 %f1, 0f40490FDB;", "f4", "st.async.release.sys.f32 [%rd1], %f1;"),
    ("mov.u16 %h1, 0x21; mov.b16 {%c1, _}, %h1;", "u1", "st.async.release.gpu.global.u8 [%rd1], %c1;"),
])  # fmt: skip
def test_stores(value, kind, store, newer_devices):
    wanted = {
        "u4": 77,
        "u8": 0x1122334455667788,
        "u2": 0x1234,
        "f4": np.float32(np.pi),
        "u1": 0x21,
    }[kind]
    _, got = newer_devices("10.0").run(
        run, kernel(value + store), np.zeros(64, np.uint8), np.zeros(4, kind)
    )
    assert got.tolist() == [np.array(wanted, kind).item(), 0, 0, 0]


@pytest.mark.parametrize(("reduction", "kind", "expected"), [
    ("relaxed.gpu.global.add.u32 [%rd1], 5;", "u4", 12), ("release.sys.add.s64 [%rd1], -9;", "i8", -2), ("mmio.release.sys.global.max.s32 [%rd1], 9;", "i4", 9),
    ("release.gpu.global.inc.u32 [%rd1], 7;", "u4", 0), ("release.gpu.global.dec.u32 [%rd1], 9;", "u4", 6), ("release.gpu.xor.b32 [%rd1], 5;", "u4", 2),
    ("relaxed.sys.min.u32 [%rd1], 3;", "u4", 3),
])  # fmt: skip
def test_reductions(reduction, kind, expected, newer_devices):
    _, got = newer_devices("10.0").run(
        run, kernel("red.async." + reduction), np.zeros(64, np.uint8), np.full(2, 7, kind)
    )
    assert got.tolist() == [expected, 7]


def test_multimem_stores_of_small_floats(newer_devices):
    a, b = np.arange(64, dtype=np.uint8), np.zeros(64, np.uint8)
    body = "ld.shared.v4.b32 {%r2, %r3, %r4, %r5}, [%r1]; multimem.st.relaxed.gpu.global.v4.e4m3x4 [%rd1], {%r2, %r3, %r4, %r5}; mov.b32 {%h1, %h2}, %r3; multimem.st.global.v2.e5m2x2 [%rd1+16], {%h1, %h2};"
    _, got = newer_devices("10.0").run(run, kernel(body), a, b)
    assert got[:20].tolist() == [*range(16), *range(4, 8)]


@pytest.mark.parametrize(("body", "said"), [
    (INSIDE.format(at=0, size=32, left=16, right=0, unit=""), "at most 15 bytes"), ("mov.u64 %rd1, 4096;" + INSIDE.format(at=0, size=48, left=0, right=2, unit=""), "illegal address"), (INSIDE.format(at=8, size=32, left=0, right=0, unit=""), "aligned to 16 bytes"),
    (INSIDE.format(at=0, size=1 << 20, left=0, right=0, unit=""), "illegal address, written"), ("cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd1+8], [%r1], 32, 1;", "aligned"),
    ("multimem.ld_reduce.add.e4m3x4 %r2, [%rd1];", "not a multicast address"),
])  # fmt: skip
def test_hostile_operands(body, said, newer_devices):
    assert said in newer_devices("10.0").run(fault, kernel(body))


def fault(text):
    import driver_abi

    driver = device_process.driver()
    try:
        run(text, np.zeros(64, np.uint8), np.zeros(64, np.uint8))
    except driver_abi.DriverError:
        said = last_fault(driver)
        driver.reset()
        return said
    return ""


LOAD = """mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.expect_tx.shared.b64 _, [bar], 48; {copy} [%r1], [%rd1], 48, [bar];
WAIT: mbarrier.try_wait.parity.shared.b64 %p0, [bar], 0; @!%p0 bra WAIT;"""
ORDERS = [
    ("weak.", ""),
    ("", ".b128"),
    *((f"relaxed.{scope}.", ".b128") for scope in ("cta", "cluster", "gpu", "sys")),
]


@pytest.mark.parametrize(("order", "unit"), ORDERS)
@pytest.mark.parametrize("to", ["shared::cta", "shared::cluster"])
def test_orders_of_loads(to, order, unit, newer_devices):
    a, b = np.full(64, 200, np.uint8), np.arange(64, dtype=np.uint8)
    copy = f"cp.async.bulk.{order}{to}.global.mbarrier::complete_tx::bytes{unit}"
    got, _ = newer_devices("10.0").run(run, kernel(LOAD.format(copy=copy) + OUT), a, b)
    assert (got == np.where(np.arange(64) < 48, b, 200)).all()


@pytest.mark.parametrize("order", ["", "relaxed.cluster."])
def test_multicast_of_16_bytes_each(order, newer_devices):
    """The cluster has one block."""
    a, b = np.full(64, 200, np.uint8), np.arange(64, dtype=np.uint8)
    copy = f"cp.async.bulk.{order}shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.b128"
    body = "mov.u16 %h0, 1;" + LOAD.format(copy=copy).replace(", [bar];\n", ", [bar], %h0;\n", 1)
    got, _ = newer_devices("10.0").run(run, kernel(body + OUT), a, b)
    assert (got == np.where(np.arange(64) < 48, b, 200)).all()


def test_a_copy_in_shared_memory_of_16_bytes_each(newer_devices):
    a = np.arange(64, dtype=np.uint8)
    body = """mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.expect_tx.shared.b64 _, [bar], 32;
cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.b128 [%r1+32], [%r1], 32, [bar];
WAIT: mbarrier.try_wait.parity.shared.b64 %p0, [bar], 0; @!%p0 bra WAIT;"""
    got, _ = newer_devices("10.0").run(run, kernel(body + OUT), a.copy(), a)
    assert got.tolist() == [*range(32), *range(32)]


@pytest.mark.parametrize(("order", "unit"), ORDERS)
@pytest.mark.parametrize("of", ["", "multimem."])
def test_orders_of_stores(of, order, unit, newer_devices):
    a, b = np.arange(64, dtype=np.uint8), np.zeros(64, np.uint8)
    copy = f"{of}cp.async.bulk.{order}global.shared::cta.bulk_group{unit} [%rd1], [%r1], 48;"
    masked = f"{of}cp.async.bulk.{order}global.shared::cta.bulk_group.cp_mask{unit} [%rd1+48], [%r1+48], 16, %h0;"
    _, got = newer_devices("10.0").run(
        run, kernel(f"mov.u16 %h0, 15; {copy} {masked} {DONE}"), a, b
    )
    assert (got == np.where(np.arange(64) < 52, a, 0)).all()


@pytest.mark.parametrize("of", ["", "multimem."])
@pytest.mark.parametrize("scope", ["cta", "cluster", "gpu", "sys"])
def test_relaxed_reductions(scope, of, newer_devices):
    a = np.arange(16, dtype=np.uint32)
    copy = f"{of}cp.reduce.async.bulk.relaxed.{scope}.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], 64;"
    _, got = newer_devices("10.0").run(run, kernel(copy + DONE), a, a[::-1].copy())
    assert (got == 15).all()


def refusals(texts):
    """For each text, whether the device of this process refuses it."""
    driver, found = device_process.driver(), []
    for text in texts:
        try:
            driver.load(text).unload()
            found.append(False)
        except Exception:
            found.append(True)
    return found


FORMS = {
    "weak.{}": False, "weak.{}.b128": True, "relaxed.gpu.{}": True, "relaxed.{}.b128": True, "gpu.{}.b128": True,
    "release.gpu.{}.b128": True, "relaxed.gpu.{}.b64": True, "relaxed.gpu.{}.b128": False,
}  # fmt: skip


@pytest.mark.parametrize("target", ["sm_90", "sm_100a"])
def test_orders_that_are_refused(target, newer_devices):
    """Relaxed copies have the type b128, and weak copies have none. Only sm_100f has all orders."""
    to = "shared::cta.global.mbarrier::complete_tx::bytes"
    texts = {
        f"cp.async.bulk.{form.format(to)} [%r1], [%rd1], 16, [bar];": wrong
        for form, wrong in FORMS.items()
    }
    far = "cp.async.bulk.relaxed.gpu.shared::cluster.global.mbarrier::complete_tx::bytes.b128 [%r1], [%rd1], 16, [bar];"
    texts[far] = target == "sm_90"
    near = "cp.async.bulk.relaxed.gpu.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.b128 [%r1], [%r1], 16, [bar];"
    texts[near] = True
    device = newer_devices("9.0" if target == "sm_90" else "10.0")
    assert device.run(refusals, [kernel(text, target) for text in texts]) == list(texts.values())


FAR = """.version 9.5
.target sm_90
.address_size 64
.visible .entry k(.param .u64 pa, .param .u64 pb) .explicitcluster .reqnctapercluster 2 {{
.shared .align 16 .b8 cells[16]; .shared .align 8 .b64 bar; .reg .b64 %rd<8>; .reg .b32 %r<8>; .reg .b128 %q<2>; .reg .pred %p<2>;
ld.param.u64 %rd0, [pa]; mov.u32 %r0, %cluster_ctarank; xor.b32 %r1, %r0, 1; mul.wide.u32 %rd1, %r0, 16; add.u64 %rd0, %rd0, %rd1;
mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16; fence.mbarrier_init.release.cluster;
barrier.cluster.arrive; barrier.cluster.wait; mov.u32 %r2, cells; mapa.shared::cluster.u32 %r2, %r2, %r1; mov.u32 %r3, bar; mapa.shared::cluster.u32 %r3, %r3, %r1;
ld.global.v2.u64 {{%rd2, %rd3}}, [%rd0]; mov.b128 %q0, {{%rd2, %rd3}};
st.async.{order}shared::cluster.mbarrier::complete_tx::bytes.{value}, [%r3];
WAIT: mbarrier.try_wait.parity.shared.b64 %p0, [bar], 0; @!%p0 bra WAIT;
ld.shared.v2.u64 {{%rd2, %rd3}}, [cells]; st.global.v2.u64 [%rd0], {{%rd2, %rd3}}; barrier.cluster.arrive; barrier.cluster.wait; ret; }}"""


def exchange(text, a):
    device_process.driver().load(text).run("k", 2, 1, [a, np.zeros(4, np.uint8)])
    return a


@pytest.mark.parametrize("order", ["", "weak.", "cluster."])
@pytest.mark.parametrize(
    "value",
    [
        "b128 [%r2], %q0",
        "v2.b64 [%r2], {%rd2, %rd3}",
        "b64 [%r2], %rd2, [%r3]; st.async.cluster.shared::cluster.mbarrier::complete_tx::bytes.b64 [%r2+8], %rd3",
    ],
)
def test_blocks_exchange_16_bytes(order, value, newer_devices):
    a = np.arange(32, dtype=np.uint8)
    text = FAR.format(order=order, value=value)
    assert (newer_devices("9.0").run(exchange, text, a) == np.roll(a, 16)).all()
