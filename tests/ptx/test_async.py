# ruff: noqa: E501 - PTX text and tables of it are wide
"""Asynchronous copies: cp.async, bulk copies and reductions that report to an mbarrier."""

import os

import driver_abi
import numpy as np
import pytest

from . import driver as ptx
from . import tensor_memory
from .async_text import REDUCTIONS, WAIT, text_of

COVERED = """
mbarrier.init.b64 mbarrier.inval.b64 mbarrier.expect_tx.b64 mbarrier.complete_tx.b64
mbarrier.arrive.b64 mbarrier.arrive.expect_tx.b64 mbarrier.arrive.noComplete.b64
mbarrier.arrive_drop.b64 mbarrier.arrive_drop.expect_tx.b64 mbarrier.arrive_drop.noComplete.b64
cp.async.mbarrier.arrive.b64 cp.async.mbarrier.arrive.noinc.b64 mbarrier.test_wait.b64
mbarrier.test_wait.parity.b64 mbarrier.try_wait.b64 mbarrier.try_wait.parity.b64
mbarrier.pending_count.b64 cp.async.ca.shared.global cp.async.cg.shared.global
cp.async.commit_group cp.async.wait_group cp.async.wait_all
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes
cp.async.bulk.global.shared::cta.bulk_group cp.async.bulk.prefetch.L2.global
cp.async.bulk.commit_group cp.async.bulk.wait_group cp.async.bulk.wait_group.read
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16
cp.reduce.async.bulk.global.shared::cta.bulk_group.min.u32
cp.reduce.async.bulk.global.shared::cta.bulk_group.inc.u32
cp.reduce.async.bulk.global.shared::cta.bulk_group.and.b32
fence.proxy.tensormap::generic.acquire.cta
fence.proxy.alias membar.proxy.alias fence.proxy.tensormap::generic.release.cta fence.mbarrier_init.release.cluster
fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster
fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster
fence.acquire.sync_restrict::shared::cluster.cluster
fence.release.sync_restrict::shared::cta.cluster
fence.proxy.alias.acquire.sys prefetch.L1::32B.valid_addr
fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cta
applypriority.L2::evict_normal discard.L2 createpolicy.fractional.L2::evict_last.b64
createpolicy.range.L2::evict_last.b64 createpolicy.cvt.L2.b64
"""
# -- cp.async ----------------------------------------------------------------------------------


COPIES = ["cp.async.ca.shared.global", "cp.async.ca.shared::cta.global",
          "cp.async.cg.shared.global.L2::128B", "cp.async.ca.shared.global.L2::cache_hint.L2::64B"]  # fmt: skip


@pytest.mark.parametrize(
    "form, size, how",
    [
        (form, size, how)
        for how in COPIES
        for size in ((16,) if ".cg" in how else (4, 8, 16))
        for form in ("whole", "some", "constant", "none")
    ],
)
def test_copies(how, size, form, driver, load):
    if "cache_hint" in how:
        driver.skip_on_hardware("an H200 calls it an illegal instruction")
    last = {"whole": "", "some": ", %r7", "constant": f", {size - 3}", "none": ", %p1"}[form]
    policy = ", %rd9" if "cache_hint" in how else ""
    body = f"""
    createpolicy.fractional.L2::evict_first.b64 %rd9;
    mul.lo.u32 %r3, %r0, {size}; add.u32 %r4, %r2, %r3; cvt.u64.u32 %rd3, %r3; add.u64 %rd4, %rd0, %rd3;
    st.shared.b32 [%r4], -1; rem.u32 %r7, %r0, {size + 1}; and.b32 %r8, %r0, 3; setp.eq.u32 %p1, %r8, 0;
    {how} [%r4], [%rd4], {size}{last}{policy};
    cp.async.commit_group; cp.async.wait_group 0; cp.async.wait_all; bar.sync 0;
    mov.u32 %r9, 0; LOOP: add.u32 %r10, %r4, %r9; ld.shared.u32 %r11, [%r10]; cvt.u64.u32 %rd5, %r9; add.u64 %rd5, %rd5, %rd3;
    add.u64 %rd5, %rd1, %rd5; st.global.u32 [%rd5], %r11; add.u32 %r9, %r9, 4; setp.lt.u32 %p2, %r9, {size}; @%p2 bra LOOP;
    """
    if not policy:
        body = body.split(";", 1)[1]
    a = np.random.default_rng(size).integers(0, 256, (128, size), np.uint8)
    b = np.zeros_like(a)
    load(text_of(body)).run("k", 1, 128, [a, b])
    i = np.arange(128)
    kept = {"whole": 0 * i + size, "some": i % (size + 1), "constant": 0 * i + size - 3,
            "none": np.where(i % 4 == 0, 0, size)}[form]  # fmt: skip
    assert (b == np.where(np.arange(size) < kept[:, None], a, 0)).all()


@pytest.mark.parametrize("noinc", ["", ".noinc"])
@pytest.mark.parametrize("place", ["", ".shared", ".shared::cta"])
def test_copies_arrive(noinc, place, load):
    """Without .noinc a copy adds its own pending arrival; with it the barrier expects the arrival."""
    body = f"""
    @%p7 mbarrier.init.shared.b64 [bar], {128 if noinc else 64}; cvt.u64.u32 %rd2, %r1; cvta.shared.u64 %rd2, %rd2; bar.sync 0;
    shl.b32 %r3, %r0, 3; add.u32 %r4, %r2, %r3; cvt.u64.u32 %rd3, %r3; add.u64 %rd4, %rd0, %rd3;
    cp.async.ca.shared.global [%r4], [%rd4], 8; cp.async.mbarrier.arrive{noinc}{place}.b64 {"[%r1]" if place else "[%rd2]"};
    mbarrier.arrive.shared.b64 %rd5, [%r1];
    WAIT: mbarrier.try_wait.shared.b64 %p0, [%r1], %rd5; @!%p0 bra WAIT;
    xor.b32 %r4, %r3, 8; add.u32 %r4, %r4, %r2; ld.shared.u64 %rd6, [%r4]; add.u64 %rd7, %rd1, %rd3; st.global.u64 [%rd7], %rd6;
    """
    a = np.arange(64, dtype=np.uint64) * np.uint64(0x123456789ABCDEF)
    b = np.zeros_like(a)
    load(text_of(body)).run("k", 1, 64, [a, b])
    assert (b == a[np.arange(64) ^ 1]).all()


@pytest.mark.parametrize("to", ["shared::cluster", "shared::cta"])
@pytest.mark.parametrize("size", [16, 48, 4096])
@pytest.mark.parametrize("hint", [False, True])
def test_bulk_in_and_out(to, size, hint, load):
    body = f"""
    mov.u32 %r3, {size}; createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %rd9, 0.5;
    @!%p7 bra READY; mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;
    cp.async.bulk.prefetch.L2.global [%rd0], %r3;
    mbarrier.arrive.expect_tx.shared.b64 _, [bar], %r3;
    cp.async.bulk.{to}.global.mbarrier::complete_tx::bytes{".L2::cache_hint" if hint else ""} [cells], [%rd0], %r3, [bar]{", %rd9" if hint else ""};
    READY: bar.sync 0; {WAIT}
    fence.proxy.async; bar.sync 0; @!%p7 bra END;
    cp.async.bulk.global.shared::cta.bulk_group{".L2::cache_hint" if hint else ""} [%rd1], [cells], %r3{", %rd9" if hint else ""};
    cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; cp.async.bulk.wait_group 0; END:
    """
    a = np.random.default_rng(size).integers(0, 256, size, np.uint8)
    b = np.zeros_like(a)
    load(text_of(body)).run("k", 1, 64, [a, b])
    assert (a == b).all()


@pytest.mark.parametrize("op", ["add.u32", "add.s32", "add.u64", "add.f32", "add.f64", "add.noftz.f16", "add.noftz.bf16", "min.u32", "max.s32", "min.s64", "max.u64",
                                "min.f16", "max.f16", "min.bf16", "max.bf16", "inc.u32", "dec.u32", "and.b32", "or.b64", "xor.b32"])  # fmt: skip
def test_reduction_in_global_memory(op, load):
    name, kind = op.split(".")[0], op.split(".")[-1]
    body = f"""
    @!%p7 bra END; mbarrier.init.shared.b64 [bar], 1; fence.proxy.async.shared::cta; mbarrier.arrive.expect_tx.shared.b64 _, [bar], 2048;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [cells], [%rd0], 2048, [bar]; {WAIT}
    cp.reduce.async.bulk.global.shared::cta.bulk_group.{op} [%rd1], [cells], 2048; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; END:
    """
    rng = np.random.default_rng(5)
    if kind in ("f32", "f64", "f16", "bf16"):
        old, x = rng.normal(0, 8, (2, 1024)).astype(np.float32)
        old[:8], x[:8] = [0, -0.0, 1, 2, np.inf, -1, 3, 5], [-0.0, -0.0, 1, -2, 1, -np.inf, 0, 0]
        dtype = {"f32": "f4", "f64": "f8", "f16": "f2"}.get(kind)
        if kind == "bf16":  # the upper halves of floats
            old, x = ((v.view(np.uint32) & 0xFFFF0000).view(np.float32) for v in (old, x))
            exact = REDUCTIONS[name](old, x)  # exact here, or rounded twice where it is no tie
            bits = exact.view(np.uint32).astype(np.uint64)
            rounded = (
                (bits + 0x7FFF + (bits >> np.uint64(16) & np.uint64(1))) >> np.uint64(16)
            ).astype(np.uint16)
            a, b = ((v.view(np.uint32) >> np.uint32(16)).astype(np.uint16) for v in (x, old))
            expected = rounded
        else:
            a, b = x.astype(dtype), old.astype(dtype)
            expected = REDUCTIONS[name](b.astype("f8") if dtype == "f2" else b, a).astype(dtype)
        if name in ("min", "max"):  # -0 is less than +0
            zeros = np.nonzero((x == 0) & (old == 0))[0]
            sign = (
                np.signbit(x[zeros]) | np.signbit(old[zeros])
                if name == "min"
                else np.signbit(x[zeros]) & np.signbit(old[zeros])
            )
            expected.view(np.uint16)[zeros] = np.where(sign, 0x8000, 0)
    else:
        dtype = {"b": "u"}.get(kind[0], kind[0]).replace("s", "i") + str(int(kind[1:]) // 8)
        a, b = rng.integers(0, 256, (2, 2048), np.uint8).view(dtype)
        expected = REDUCTIONS[name](b, a).astype(dtype)
    a, b, expected = (np.resize(v, 2048 // v.itemsize) for v in (a, b, expected))
    load(text_of(body)).run("k", 1, 32, [a, b])
    assert (b.view(np.uint8) == expected.view(np.uint8)).all()


FENCES = [
    "membar.proxy.alias",
    "fence.proxy.alias", "fence.proxy.async", "fence.proxy.async.global", "fence.proxy.async.shared::cta",
    "fence.proxy.async.shared::cluster", "fence.proxy.tensormap::generic.release.gpu", "fence.mbarrier_init.release.cluster",
    "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster",
    "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster",
    "fence.acquire.sync_restrict::shared::cluster.cluster", "fence.release.sync_restrict::shared::cta.cluster",
]  # fmt: skip


def test_fences(load):
    body = (
        "".join(f"{f};" for f in FENCES) + "fence.proxy.tensormap::generic.acquire.sys [%rd0], 128;"
    )
    b = np.zeros(32, np.uint32)
    load(text_of(body + "st.global.u32 [%rd1], 5;")).run("k", 1, 32, [b, b])
    assert b[0] == 5


@pytest.mark.skipif("CUPOLA_TEST_DRIVER" in os.environ, reason="PTX 9.4 needs a newer driver")
@pytest.mark.parametrize("order", ["alias.{}.sys", "{}.alias.sys"])
def test_fences_of_aliases_order_a_message(order, newer_devices):
    """Block 1 reads what block 0 wrote before its release; a prefetch is a hint."""
    body = f"""
    mov.u32 %r3, %ctaid.x; setp.ne.u32 %p0, %r3, 0; @%p0 bra WAIT; @!%p7 bra END; st.global.u32 [%rd0], 42;
    fence.proxy.{order.format("release")}; st.relaxed.sys.global.u32 [%rd0+4], 1; bra END;
    WAIT: ld.relaxed.sys.global.u32 %r4, [%rd0+4]; setp.ne.u32 %p1, %r4, 1; @%p1 bra WAIT;
    fence.proxy.{order.format("acquire")}; prefetch.global.L1::32B.valid_addr [%rd0]; prefetch.valid_addr.L1::32B [%rd0];
    fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cluster;
    fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cta;
    ld.global.u32 %r5, [%rd0]; st.global.u32 [%rd1], %r5; END:"""
    text = text_of(body).replace(".version 8.6", ".version 9.4")
    given, out = np.zeros(2, np.uint32), np.zeros(1, np.uint32)
    _, out = newer_devices("9.0").run(tensor_memory.run, text, [given, out], 32, 2)
    assert out[0] == 42


@pytest.mark.skipif("CUPOLA_TEST_DRIVER" in os.environ, reason="PTX 9.4 needs a newer driver")
@pytest.mark.parametrize("statement", [
    "fence.proxy.alias.acquire.gpu;", "fence.proxy.alias.acq_rel.sys;", "fence.proxy.alias.acquire;",
    "fence.proxy.async.release.sys;", "membar.proxy.alias.acquire.sys;",
    "fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.gpu;",
    "fence.release.sync_restrict::shared::cluster::read.cluster;",
    "prefetch.local.L1::32B.valid_addr [%rd0];", "prefetch.global.L1::32B [%rd0];", "prefetch.global.L2.valid_addr [%rd0];",
])  # fmt: skip
def test_orders_that_no_fence_or_prefetch_has(statement, newer_devices):
    text = text_of(statement).replace(".version 8.6", ".version 9.4")
    code, said = newer_devices("9.0").run(tensor_memory.fault, text)
    assert code == driver_abi.INVALID_PTX, said


def test_cache_hints_do_not_change_results(load):
    """A line that is discarded is written again."""
    body = """
    createpolicy.fractional.L2::evict_last.b64 %rd10; createpolicy.range.global.L2::evict_normal.L2::evict_first.b64 %rd11, [%rd0], 128, 1024;
    createpolicy.range.L2::evict_unchanged.b64 %rd12, [%rd0], %r0, 1024; createpolicy.cvt.L2.b64 %rd13, 0x13F0000000000000;
    ld.global.L2::cache_hint.u32 %r3, [%rd0], %rd10; ld.global.nc.L1::no_allocate.L2::cache_hint.L2::128B.v4.u32 {%r4, %r5, %r6, %r7}, [%rd0], %rd10;
    applypriority.global.L2::evict_normal [%rd0], 128; applypriority.L2::evict_normal [%rd0], 128;
    discard.global.L2 [%rd1], 128; discard.L2 [%rd1], 128; st.global.L1::evict_last.L2::cache_hint.u32 [%rd1], 0, %rd10;
    atom.global.add.L2::cache_hint.u32 %r8, [%rd1], %r3, %rd10; red.relaxed.gpu.global.add.L2::cache_hint.u32 [%rd1], %r7, %rd10;
    """
    a, b = np.arange(10, 74, dtype=np.uint32), np.zeros(32, np.uint32)
    load(text_of(body)).run("k", 1, 1, [a, b])
    assert b[0] == 10 + 13


# -- what is wrong -----------------------------------------------------------------------------

FAULTS = {
    "cp.async.ca.shared.global [%r2], [%rd2+1], 4;": driver_abi.MISALIGNED_ADDRESS,
    "cp.async.cg.shared.global [%r2+8], [%rd0], 16;": driver_abi.MISALIGNED_ADDRESS,
    "mov.u64 %rd2, 16; cp.async.ca.shared.global [%r2], [%rd2], 8;": driver_abi.ILLEGAL_ADDRESS,
}


@pytest.mark.parametrize("body", FAULTS)
def test_a_wrong_copy_is_a_fault(body):
    text = text_of("mov.u64 %rd2, %rd0;" + body + "cp.async.wait_all;")
    done = ptx.in_child(text, 'module.run("k", 1, 1, [np.zeros(64), np.zeros(64)])')
    assert done.stdout == f"code {FAULTS[body]}\n", done.stderr


@pytest.mark.parametrize("body", [
    "mbarrier.arrive.shared.b64 _, [bar];", "mbarrier.init.shared.b64 [%r1+4], 1;", "mbarrier.arrive.b64 _, [%rd0];",
    "mbarrier.init.shared.b64 [bar], 0;", "mov.u32 %r3, 8; cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r2], %r3;",
    "cp.async.ca.shared.global [cells+4096], [%rd0], 4;", "mov.u32 %r3, 65536; cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r2], %r3;",
])  # fmt: skip
def test_undefined_copies_are_faults(body, driver, load):
    """PTX defines none of these; the CPU device reports them."""
    driver.skip_on_hardware("undefined there")
    module = load(text_of(body))
    with pytest.raises(driver_abi.DriverError) as error:
        module.run("k", 1, 1, [np.zeros(64), np.zeros(64)])
    driver.reset()
    assert error.value.code in (driver_abi.ILLEGAL_ADDRESS, driver_abi.MISALIGNED_ADDRESS, 715)


@pytest.mark.parametrize("text", [
    "cp.async.ca.shared.global [%r2], [%rd0], 5;", "cp.async.cg.shared.global [%r2], [%rd0], 8;",
    "cp.async.cg.global.shared [%r2], [%rd0], 16;", "mbarrier.init.global.b64 [%rd0], 1;", "mbarrier.test_wait.shared.b64 %p0, [%r1], %r3;",
    "cp.async.ca.shared.global.L2::cache_hint [%r2], [%rd0], 4;",
])  # fmt: skip
def test_wrong_forms_are_refused(text, driver):
    with pytest.raises(driver_abi.DriverError) as error:
        driver.load(text_of(text))
    assert error.value.code in (driver_abi.INVALID_PTX, driver_abi.UNSUPPORTED_PTX_VERSION)


@pytest.mark.parametrize("kind", ["", ".multicast::cluster"])
def test_a_bulk_copy_of_no_bytes_still_needs_an_mbarrier(kind, driver):
    """The null source once ended the process instead of the launch."""
    if driver.on_hardware:
        pytest.skip("a fault there is the end of the process's context")
    mask = ", 1" if kind else ""
    text = f""".version 8.6\n.target sm_90\n.address_size 64
    .visible .entry k() .reqnctapercluster 2, 1, 1 {{ .reg .b64 %rd<4>; .reg .b32 %r<4>; mov.u64 %rd0, 0; mov.u32 %r0, 0; mov.u64 %rd2, 0x7fffffffffffff00;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes{kind} [%rd2], [%rd0], %r0, [%rd2]{mask}; ret; }}"""
    done = ptx.in_child(text, "module.launch('k', 2, 40, [])")
    assert done.stdout == f"code {driver_abi.ILLEGAL_ADDRESS}\n", (
        done.stderr
    )  # there is no mbarrier
