# ruff: noqa: E501 - PTX text and tables of it are wide
"""Asynchronous copies, stores and reductions to other blocks of a cluster."""

import os

import numpy as np
import pytest

from . import tensor_memory
from .async_text import REDUCTIONS, WAIT, text_of

COVERED = """
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes
cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32
cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.min.u32
cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.inc.u32
cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.and.b32
st.async.mbarrier::complete_tx::bytes.b32 red.async.relaxed.cluster.mbarrier::complete_tx::bytes.add.u32
red.async.relaxed.cluster.mbarrier::complete_tx::bytes.min.u32 red.async.relaxed.cluster.mbarrier::complete_tx::bytes.inc.u32
red.async.relaxed.cluster.mbarrier::complete_tx::bytes.and.b32
"""


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
    """The result of each thread of 2 clusters of 4 blocks of 256, at its place behind 2048."""
    b = np.zeros((2, 4, 256), np.uint32)
    load(text_of(RANK + body + STORE, CLUSTER)).run("k", 8, 256, [b if a is None else a, b])
    return b


def before(rank_shift=-1):
    """The values that the neighbour's threads wrote."""
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


# Block 0 of each cluster sends to blocks 1 and 3.
MULTICAST = f"""mov.b16 %h0, 10; setp.eq.u32 %p1, %r5, 0; and.pred %p1, %p1, %p7; and.b32 %r17, %r5, 1; setp.eq.u32 %p2, %r17, 1;
    mov.u32 %r20, cells; @%p7 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 1024;
    @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r20+2048], [%rd0], 1024, [bar], %h0;
    @!%p2 bra DONE; {WAIT} DONE: {SYNC}"""


def test_multicast(load):
    a = np.arange(256, dtype=np.uint32) * np.uint32(77777777)
    got = in_cluster(load, MULTICAST, a)
    assert (got[:, [1, 3]] == a).all() and (got[:, [0, 2]] == 1000).all()


@pytest.mark.skipif("CUPOLA_TEST_DRIVER" in os.environ, reason="PTX 9.4 needs a newer driver")
def test_multicast_by_a_mask_of_16_bits(newer_devices):
    """PTX 9.4 also spells the width of the mask."""
    text = text_of(RANK + MULTICAST.replace("::cluster [", "::cluster::16b [") + STORE, CLUSTER)
    text = text.replace(".version 8.6", ".version 9.4")
    assert "multicast::cluster::16b [" in text
    a = np.arange(256, dtype=np.uint32) * np.uint32(77777777)
    out = np.zeros((2, 4, 256), np.uint32)
    _, got = newer_devices("9.0").run(tensor_memory.run, text, [a, out], 256, 8)
    assert (got[:, [1, 3]] == a).all() and (got[:, [0, 2]] == 1000).all()


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


@pytest.mark.parametrize("kind", ["b32", "u64", "v2.b32", "v4.s32", "v2.f64", "f32"])
def test_stores_complete_transactions(kind, load):
    """Each thread stores to the neighbour; the neighbour's mbarrier counts the bytes."""
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
def test_reductions_complete_transactions(op, load):
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
    """All threads of the cluster arrive at the mbarrier of each block."""
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
