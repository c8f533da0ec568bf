# ruff: noqa: E501 - PTX text and tables of it are wide
"""Asynchronous copies: cp.async, bulk copies, stores and reductions that report to an mbarrier."""

import driver_abi
import numpy as np
import pytest

from . import driver as ptx

COVERED = """
mbarrier.init.b64 mbarrier.inval.b64 mbarrier.expect_tx.b64 mbarrier.complete_tx.b64
mbarrier.arrive.b64 mbarrier.arrive.expect_tx.b64 mbarrier.arrive.noComplete.b64
mbarrier.arrive_drop.b64 mbarrier.arrive_drop.expect_tx.b64 mbarrier.arrive_drop.noComplete.b64
cp.async.mbarrier.arrive.b64 cp.async.mbarrier.arrive.noinc.b64 mbarrier.test_wait.b64
mbarrier.test_wait.parity.b64 mbarrier.try_wait.b64 mbarrier.try_wait.parity.b64
mbarrier.pending_count.b64 cp.async.ca.shared.global cp.async.cg.shared.global
cp.async.commit_group cp.async.wait_group cp.async.wait_all
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes
cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes
cp.async.bulk.global.shared::cta.bulk_group cp.async.bulk.prefetch.L2.global
cp.async.bulk.commit_group cp.async.bulk.wait_group cp.async.bulk.wait_group.read
cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32
cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.min.u32
cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.inc.u32
cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.and.b32
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16
cp.reduce.async.bulk.global.shared::cta.bulk_group.min.u32
cp.reduce.async.bulk.global.shared::cta.bulk_group.inc.u32
cp.reduce.async.bulk.global.shared::cta.bulk_group.and.b32
st.async.mbarrier::complete_tx::bytes.b32 red.async.relaxed.cluster.mbarrier::complete_tx::bytes.add.u32
red.async.relaxed.cluster.mbarrier::complete_tx::bytes.min.u32 red.async.relaxed.cluster.mbarrier::complete_tx::bytes.inc.u32
red.async.relaxed.cluster.mbarrier::complete_tx::bytes.and.b32 fence.proxy.tensormap::generic.acquire.cta
fence.proxy.alias membar.proxy.alias fence.proxy.tensormap::generic.release.cta fence.mbarrier_init.release.cluster
fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster
fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster
fence.acquire.sync_restrict::shared::cluster.cluster
fence.release.sync_restrict::shared::cta.cluster
applypriority.L2::evict_normal discard.L2 createpolicy.fractional.L2::evict_last.b64
createpolicy.range.L2::evict_last.b64 createpolicy.cvt.L2.b64
"""

TOP = ".version 8.6\n.target sm_90\n.address_size 64\n"
HEAD = """
.visible .entry k(.param .u64 pa, .param .u64 pb) {head} {
.shared .align 16 .b64 bar[4]; .shared .align 128 .b8 cells[4096];
.reg .b64 %rd<32>; .reg .b32 %r<32>; .reg .b16 %h<8>; .reg .pred %p<8>;
ld.param.u64 %rd0, [pa]; ld.param.u64 %rd1, [pb]; cvta.to.global.u64 %rd0, %rd0; cvta.to.global.u64 %rd1, %rd1;
mov.u32 %r0, %tid.x; mov.u32 %r1, bar; mov.u32 %r2, cells; setp.eq.u32 %p7, %r0, 0;
"""


def text_of(body, head=""):
    return TOP + HEAD.replace("{head}", head) + body + "\nret; }\n"


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
    """Without .noinc a copy's arrival is counted for itself; with it the object expects it."""
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


# -- bulk copies -------------------------------------------------------------------------------

WAIT = "WAIT: mbarrier.try_wait.parity.shared.b64 %p0, [bar], 0; @!%p0 bra WAIT;"


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


CLUSTER = ".explicitcluster .reqnctapercluster 4, 1, 1"
SYNC = "barrier.cluster.arrive; barrier.cluster.wait;\n"
RANK = (
    """mov.u32 %r5, %cluster_ctarank; add.u32 %r6, %r5, 1; and.b32 %r6, %r6, 3;
mapa.shared::cluster.u32 %r7, bar, %r6; mapa.shared::cluster.u32 %r8, cells, %r6; add.u32 %r9, %r8, 2048;
mad.lo.u32 %r10, %r5, 256, %r0; shl.b32 %r11, %r0, 2; add.u32 %r12, %r2, %r11; mul.lo.u32 %r13, %r10, 3;
st.shared.u32 [%r12], %r13; st.shared.u32 [%r12+2048], 1000; mov.u32 %r14, %ctaid.x; mad.lo.u32 %r15, %r14, 256, %r0;
mul.wide.u32 %rd6, %r15, 4; add.u64 %rd6, %rd1, %rd6;
@%p7 mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster; fence.proxy.async; """
    + SYNC
)
STORE = "ld.shared.u32 %r16, [%r12+2048]; st.global.u32 [%rd6], %r16;" + SYNC


def in_cluster(load, body, a=None):
    """What each thread of 2 clusters of 4 blocks of 256 finds at its place behind 2048."""
    b = np.zeros((2, 4, 256), np.uint32)
    load(text_of(RANK + body + STORE, CLUSTER)).run("k", 8, 256, [b if a is None else a, b])
    return b


def before(rank_shift=-1):
    """What the neighbour's threads wrote."""
    rank = (np.arange(4) + rank_shift) % 4
    return np.tile(
        (rank[:, None] * 256 + np.arange(256, dtype=np.uint32)).astype(np.uint32) * np.uint32(3),
        (2, 1, 1),
    )


EXPECT = "@%p7 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 1024;"
REMOTE = "@%p7 mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r7], 1024;"


@pytest.mark.parametrize("expect", [EXPECT, REMOTE])
def test_bulk_to_a_neighbour(expect, load):
    body = f"""{expect}
    @%p7 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r9], [cells], 1024, [%r7];
    {WAIT}"""
    assert (in_cluster(load, body) == before()).all()


def test_multicast(load):
    """Block 0 of each cluster sends to blocks 1 and 3."""
    body = f"""mov.b16 %h0, 10; setp.eq.u32 %p1, %r5, 0; and.pred %p1, %p1, %p7; and.b32 %r17, %r5, 1; setp.eq.u32 %p2, %r17, 1;
    mov.u32 %r20, cells; @%p7 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 1024;
    @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r20+2048], [%rd0], 1024, [bar], %h0;
    @!%p2 bra DONE; {WAIT} DONE: {SYNC}"""
    a = np.arange(256, dtype=np.uint32) * np.uint32(77777777)
    got = in_cluster(load, body, a)
    assert (got[:, [1, 3]] == a).all() and (got[:, [0, 2]] == 1000).all()


REDUCTIONS = {
    "add": lambda old, x: old + x, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor,
    "inc": lambda old, x: np.where(old >= x, 0, old + 1),
    "dec": lambda old, x: np.where((old == 0) | (old > x), x, old - 1),
}  # fmt: skip


@pytest.mark.parametrize("op", ["add.u32", "add.s32", "add.u64", "min.u32", "max.s32", "inc.u32", "dec.u32", "and.b32", "or.b32", "xor.b32"])  # fmt: skip
def test_reduction_in_a_neighbour(op, load):
    body = f"""{EXPECT}
    @%p7 cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{op} [%r9], [cells], 1024, [%r7];
    {WAIT}"""
    name, kind = op.split(".")
    kind = {"b": "u"}.get(kind[0], kind[0]).replace("s", "i") + str(int(kind[1:]) // 8)
    old, x = np.full((2, 4, 256), 1000, np.uint32), before()
    expected = REDUCTIONS[name](old.view(kind), x.view(kind))
    assert (in_cluster(load, body).view(kind) == expected.astype(kind)).all()


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


@pytest.mark.parametrize("kind", ["b32", "u64", "v2.b32", "v4.s32", "v2.f64", "f32"])
def test_stores_that_report(kind, load):
    """Each thread stores to the neighbour; its object counts the bytes."""
    vector, element = kind.split(".") if "." in kind else ("", kind)
    count = int(vector[1:]) if vector else 1
    wide = element.endswith("64")
    regs = [f"%rd{20 + k}" if wide else f"%r{20 + k}" for k in range(count)]
    fill = "".join(
        f"cvt.u64.u32 {r}, %r13; add.u64 {r}, {r}, {k};" if wide else f"add.u32 {r}, %r13, {k};"
        for k, r in enumerate(regs)
    )
    size = count * (8 if wide else 4)
    threads = 1024 // size
    value = f"{{{', '.join(regs)}}}" if vector else regs[0]
    if element[0] == "f":
        fill += "".join(
            f".reg .{element} %f{k}; mov.b{element[1:]} %f{k}, {r};" for k, r in enumerate(regs)
        )
        value = f"{{{', '.join(f'%f{k}' for k in range(count))}}}" if vector else "%f0"
    body = f"""{EXPECT} {fill} mad.lo.u32 %r18, %r0, {size}, %r9; setp.lt.u32 %p1, %r0, {threads};
    @%p1 st.async.weak.shared::cluster.mbarrier::complete_tx::bytes{"." + vector if vector else ""}.{element} [%r18], {value}, [%r7];
    {WAIT}"""
    given = before()[:, :, :threads].astype(np.uint64)[..., None] + np.arange(
        count, dtype=np.uint64
    )
    expected = (
        np.ascontiguousarray(given.astype("u8" if wide else "u4")).reshape(2, 4, -1).view(np.uint32)
    )
    assert (in_cluster(load, body) == expected).all()


@pytest.mark.parametrize("op", ["add.u32", "add.s32", "add.u64", "min.u32", "max.s32", "inc.u32", "dec.u32", "and.b32", "or.b32", "xor.b32"])  # fmt: skip
def test_reductions_that_report(op, load):
    name, kind = op.split(".")
    wide = kind.endswith("64")
    body = f"""cvt.u64.u32 %rd10, %r13; mad.lo.u32 %r18, %r0, {8 if wide else 4}, %r9; setp.lt.u32 %p1, %r0, {128 if wide else 256}; {EXPECT}
    @%p1 red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{op} [%r18], {"%rd10" if wide else "%r13"}, [%r7];
    {WAIT}"""
    if wide:
        old = np.full((2, 4, 128), 1000 | 1000 << 32, np.uint64)
        expected = (old + before()[:, :, :128]).view(np.uint32)
    else:
        kind = {"b": "u"}.get(kind[0], kind[0]).replace("s", "i") + "4"
        old = np.full((2, 4, 256), 1000, np.uint32)
        expected = (
            REDUCTIONS[name](old.view(kind), before().view(kind)).astype(kind).view(np.uint32)
        )
    assert (in_cluster(load, body) == expected).all()


def test_remote_arrivals(load):
    """All threads of the cluster arrive at each block's object, which then lets its block go."""
    arrive = "".join(
        f"mapa.shared::cluster.u32 %r19, bar+8, {rank}; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r19]{count};"
        for rank, count in enumerate(["", ", 1", "", ""])
    )
    body = f"""
    @%p7 mbarrier.init.shared.b64 [bar+8], 1024; fence.mbarrier_init.release.cluster; {SYNC}
    mapa.shared::cluster.u32 %r17, cells, 0; red.release.cluster.shared::cluster.add.u32 [%r17+2048], 1; {arrive}
    WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p0, [bar+8], 0; @!%p0 bra WAIT;
    ld.acquire.cluster.shared::cluster.u32 %r18, [%r17+2048]; {SYNC} st.shared.u32 [%r12+2048], %r18;"""
    got = in_cluster(load, body)
    # Thread 0 of block 0 saw 1000 and one for each thread, as all others did.
    assert (got == 2024).all()


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


def test_what_is_said_to_caches(load):
    """Hints change no results; what is discarded is written again."""
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
def test_faults(body):
    text = text_of("mov.u64 %rd2, %rd0;" + body + "cp.async.wait_all;")
    done = ptx.in_child(text, 'module.run("k", 1, 1, [np.zeros(64), np.zeros(64)])')
    assert done.stdout == f"code {FAULTS[body]}\n", done.stderr


@pytest.mark.parametrize("body", [
    "mbarrier.arrive.shared.b64 _, [bar];", "mbarrier.init.shared.b64 [%r1+4], 1;", "mbarrier.arrive.b64 _, [%rd0];",
    "mbarrier.init.shared.b64 [bar], 0;", "mov.u32 %r3, 8; cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r2], %r3;",
    "cp.async.ca.shared.global [cells+4096], [%rd0], 4;", "mov.u32 %r3, 65536; cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r2], %r3;",
])  # fmt: skip
def test_what_hardware_leaves_open_is_a_fault(body, driver, load):
    """PTX defines none of these; the CPU device tells."""
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
def test_refused(text, driver):
    with pytest.raises(driver_abi.DriverError) as error:
        driver.load(text_of(text))
    assert error.value.code in (driver_abi.INVALID_PTX, driver_abi.UNSUPPORTED_PTX_VERSION)


@pytest.mark.parametrize("kind", ["", ".multicast::cluster"])
def test_a_bulk_copy_of_no_bytes_to_nowhere(kind, driver):
    """The fuzzer found it: null was taken for a fault that nobody had noted, and the process died."""
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
