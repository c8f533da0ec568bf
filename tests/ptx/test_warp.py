# ruff: noqa: E501 - PTX text and tables of it are wide
"""Operations across the threads of a warp and of a block."""

import numpy as np
import pytest

COVERED = """
bar.sync bar.cta.sync barrier.sync barrier.cta.sync bar.arrive barrier.arrive barrier.cta.arrive
bar.cta.arrive bar.cta.red.popc.u32 bar.cta.red.and.pred
bar.red.popc.u32 bar.red.and.pred barrier.red.popc.u32 barrier.red.and.pred barrier.cta.red.popc.u32
barrier.cta.red.and.pred bar.warp.sync membar.cta fence.cta vote.sync.all.pred vote.sync.ballot.b32
match.any.sync.b32 match.all.sync.b32 activemask.b32 redux.sync.add.u32 redux.sync.and.b32
shfl.sync.up.b32 elect.sync
shfl.up.b32 vote.all.pred vote.ballot.b32 vote.ballot.sync.b32
"""

HEAD = """.version 8.6\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 pa, .param .u64 pb) {
.reg .b64 %rd<20>; .reg .b32 %r<20>; .reg .pred %p<8>;
ld.param.u64 %rd0, [pa]; ld.param.u64 %rd1, [pb]; mov.u32 %r0, %tid.x; mul.wide.u32 %rd2, %r0, 4;
add.u64 %rd0, %rd0, %rd2; add.u64 %rd1, %rd1, %rd2; ld.global.u32 %r1, [%rd0];
"""
TAIL = "\nst.global.u32 [%rd1], %r2; ret; }\n"


def run(load, body, a, block=None):
    b = np.zeros(len(a), np.uint32)
    load(HEAD + body + TAIL).run("k", 1, block or len(a), [a.astype(np.uint32), b])
    return b


A = (np.arange(32, dtype=np.uint32) * 2654435761) >> np.uint32(7)


def source(mode, lane, b, c):
    """The manual's pseudo-code: the source lane, and whether it lies in range."""
    bval, cval, segment = b & 31, c & 31, c >> 8 & 31
    top = lane & segment | cval & ~segment
    j, ok = {
        "up": (lane - bval, lane - bval >= top),
        "down": (lane + bval, lane + bval <= top),
        "bfly": (lane ^ bval, (lane ^ bval) <= top),
        "idx": (lane & segment | bval & ~segment, (lane & segment | bval & ~segment) <= top),
    }[mode]
    return (j, True) if ok else (lane, False)


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
@pytest.mark.parametrize("b", [0, 1, 5, 16, 31])
@pytest.mark.parametrize("c", [0, 31, 0x181F, 0x1C07])
def test_shuffle(mode, b, c, load):
    body = f"""shfl.sync.{mode}.b32 %r2|%p0, %r1, {b}, {c}, 0xffffffff;
    @%p0 xor.b32 %r2, %r2, 0x80000000;"""
    expected = []
    for lane in range(32):
        j, ok = source(mode, lane, b, c)
        expected.append(int(A[j]) ^ (0x80000000 if ok else 0))
    assert list(run(load, body, A)) == expected


@pytest.mark.parametrize("mode", ["all", "any", "uni"])
@pytest.mark.parametrize("test", [lambda i: i >= 0, lambda i: i < 0, lambda i: i == 3])
def test_vote(mode, test, load):
    a = np.array([test(i) for i in range(32)])
    body = f"setp.ne.u32 %p0, %r1, 0; vote.sync.{mode}.pred %p1, %p0, 0xffffffff; selp.u32 %r2, 1, 0, %p1;"
    expected = {"all": a.all(), "any": a.any(), "uni": a.all() or not a.any()}[mode]
    assert (run(load, body, a) == expected).all()


def test_ballot_in_a_divergent_branch(load):
    body = """setp.lt.u32 %p0, %r0, 10; mov.u32 %r2, 0; @!%p0 bra DONE; and.b32 %r3, %r0, 1;
    setp.ne.u32 %p1, %r3, 0; vote.sync.ballot.b32 %r2, %p1, 0x3ff; activemask.b32 %r4;
    shl.b32 %r4, %r4, 16; or.b32 %r2, %r2, %r4; DONE:"""
    assert list(run(load, body, A)) == [0x2AA | 0x3FF << 16] * 10 + [0] * 22


def test_match(load):
    a = np.arange(32) % 5
    body = "match.any.sync.b32 %r2, %r1, 0xffffffff;"
    assert list(run(load, body, a)) == [sum(1 << j for j in range(32) if a[j] == x) for x in a]
    body = """cvt.u64.u32 %rd3, %r1; match.all.sync.b64 %r2|%p0, %rd3, 0xffffffff;
    @%p0 xor.b32 %r2, %r2, 1;"""
    assert (run(load, body, a) == 0).all()
    assert (run(load, body, a * 0 + 9) == 0xFFFFFFFE).all()


@pytest.mark.parametrize(("op", "function"), [
    ("add.u32", lambda a: a.sum(dtype=np.uint32)), ("min.u32", np.min), ("max.s32", lambda a: a.view(np.int32).max().view(np.uint32)),
    ("and.b32", np.bitwise_and.reduce), ("or.b32", np.bitwise_or.reduce), ("xor.b32", np.bitwise_xor.reduce),
])  # fmt: skip
def test_redux(op, function, load):
    a = A * np.uint32(977)
    assert (run(load, f"redux.sync.{op} %r2, %r1, 0xffffffff;", a) == function(a)).all()


def test_elect(load):
    out = run(
        load, "elect.sync %r3|%p0, 0xffffffff; selp.u32 %r2, 100, 0, %p0; add.u32 %r2, %r2, %r3;", A
    )
    # Exactly one lane leads. The device chooses which.
    leader = int(out.argmax())
    assert list(out) == [100 + leader if i == leader else leader for i in range(32)]


@pytest.mark.parametrize("barrier", ["bar.sync 0", "bar.sync 3, 256", "barrier.sync 1", "bar.cta.sync 0",
                                     "barrier.sync.aligned 2, 256", "barrier.cta.sync 5"])  # fmt: skip
def test_barrier(barrier, load):
    body = f""".shared .align 4 .b32 cells[256]; mov.u32 %r3, cells; shl.b32 %r4, %r0, 2;
    add.u32 %r4, %r3, %r4; st.shared.u32 [%r4], %r1; {barrier}; xor.b32 %r5, %r0, 255;
    shl.b32 %r5, %r5, 2; add.u32 %r5, %r3, %r5; ld.shared.u32 %r2, [%r5];"""
    a = np.arange(256) * 7
    assert (run(load, body, a) == a[::-1]).all()


def test_exited_threads_do_not_hold_a_barrier(load):
    body = """setp.ge.u32 %p0, %r0, 40; @%p0 exit; bar.sync 0; add.u32 %r2, %r0, 1;"""
    out = run(load, body, np.zeros(96))
    assert list(out) == [i + 1 if i < 40 else 0 for i in range(96)]


@pytest.mark.parametrize("word", ["bar", "bar.cta", "barrier", "barrier.cta"])
def test_producer_and_consumer(word, load):
    body = f""".shared .align 4 .b32 cell; setp.ge.u32 %p0, %r0, 32; @%p0 bra CONSUMER;
    st.shared.u32 [cell], 77; {word}.arrive 1, 64; bra DONE; CONSUMER: {word}.sync 1, 64;
    ld.shared.u32 %r2, [cell]; DONE: @!%p0 mov.u32 %r2, 1;"""
    assert list(run(load, body, np.zeros(64))) == [1] * 32 + [77] * 32


@pytest.mark.parametrize("word", ["bar", "bar.cta", "barrier", "barrier.cta"])
def test_barrier_reductions(word, load):
    body = f"""setp.ne.u32 %p0, %r1, 0; {word}.red.popc.u32 %r2, 0, %p0;
    {word}.red.and.pred %p1, 0, %p0; {word}.red.or.pred %p2, 1, 128, %p0; selp.u32 %r3, 1000, 0, %p1;
    selp.u32 %r4, 2000, 0, %p2; add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4;
    {word}.red.popc.u32 %r5, 2, 128, !%p0; mul.lo.u32 %r5, %r5, 10000; add.u32 %r2, %r2, %r5;"""
    a = (np.arange(128) % 3 == 0).astype(np.uint32)
    assert (run(load, body, a) == 43 + 2000 + 85 * 10000).all()
    assert (run(load, body, a * 0 + 1) == 128 + 3000).all()


def test_lanes_wait_for_each_other(load):
    body = """setp.lt.u32 %p0, %r0, 16; @%p0 bra LOW; mov.u32 %r2, 5; bar.warp.sync 0xffffffff; bra DONE;
    LOW: mov.u32 %r2, 6; bar.warp.sync 0xffffffff; DONE: membar.cta; membar.gl; fence.sc.cta;
    fence.acq_rel.gpu; shfl.sync.idx.b32 %r2, %r2, 31, 31, 0xffffffff;"""
    assert (run(load, body, A) == 5).all()


def test_a_lock_within_a_warp(load):
    body = """.shared .align 4 .b32 lock; .shared .align 4 .b32 total; setp.ne.u32 %p0, %r0, 0;
    @!%p0 st.shared.u32 [lock], 0; @!%p0 st.shared.u32 [total], 0; bar.sync 0;
    AGAIN: atom.shared.cas.b32 %r3, [lock], 0, 1; setp.ne.u32 %p1, %r3, 0; @%p1 bra AGAIN;
    ld.volatile.shared.u32 %r4, [total]; add.u32 %r4, %r4, 1; st.volatile.shared.u32 [total], %r4;
    membar.cta; atom.shared.exch.b32 %r5, [lock], 0; bar.sync 0; ld.shared.u32 %r2, [total];"""
    assert (run(load, body, np.zeros(96)) == 96).all()


def test_a_warp_waits_for_another_ones_store(load):
    body = """.shared .align 4 .b32 flag; setp.ne.u32 %p0, %r0, 0; @!%p0 st.shared.u32 [flag], 0; bar.sync 0;
    setp.ge.u32 %p1, %r0, 32; @%p1 bra SET; WAIT: ld.volatile.shared.u32 %r2, [flag];
    setp.eq.u32 %p2, %r2, 0; @%p2 bra WAIT; bra DONE; SET: st.volatile.shared.u32 [flag], 9; mov.u32 %r2, 1; DONE:"""
    assert list(run(load, body, np.zeros(64))) == [9] * 32 + [1] * 32


@pytest.mark.parametrize("body", [
    "redux.sync.add.u32 %r2, %r1, %r5;",
    "vote.sync.ballot.b32 %r6, %p0, %r5; popc.b32 %r2, %r6; redux.sync.max.u32 %r2, %r1, %r5; sub.u32 %r2, %r2, %r2; redux.sync.add.u32 %r2, %r1, %r5;",
    "setp.lt.u32 %p1, %r0, 12; @%p1 bra LOW; nanosleep.u32 1; LOW: redux.sync.add.u32 %r2, %r1, %r5;",
    "bar.warp.sync %r5; shfl.sync.bfly.b32 %r2, %r1, 4, 31, %r5; add.u32 %r2, %r2, %r1; shfl.sync.bfly.b32 %r6, %r2, 2, 31, %r5; add.u32 %r2, %r2, %r6; shfl.sync.bfly.b32 %r6, %r2, 1, 31, %r5; add.u32 %r2, %r2, %r6;",
])  # fmt: skip
def test_groups_of_a_warp(body, load):
    """Eight lanes each name themselves: four operations in one."""
    groups = (
        "setp.lt.u32 %p0, %r1, 1000; and.b32 %r4, %r0, 24; mov.u32 %r7, 255; shl.b32 %r5, %r7, %r4;"
    )
    a = A.copy()
    expected = np.repeat(a.reshape(4, 8).sum(1, dtype=np.uint32), 8)
    assert (run(load, groups + body, a) == expected).all()


# -- before the operations named their lanes -----------------------------------------------------


def old_run(load, body, a):
    """These are for targets before sm_70 alone, whatever they run on."""
    b = np.zeros(len(a), np.uint32)
    text = (HEAD + body + TAIL).replace("8.6", "6.3").replace("sm_90", "sm_60")
    load(text).run("k", 1, len(a), [a.astype(np.uint32), b])
    return b


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
@pytest.mark.parametrize("c", [0, 31, 0x181F])
def test_shuffle_without_members(mode, c, load):
    body = f"shfl.{mode}.b32 %r2|%p0, %r1, 5, {c}; @%p0 xor.b32 %r2, %r2, 0x80000000;"
    expected = []
    for lane in range(32):
        j, ok = source(mode, lane, 5, c)
        expected.append(int(A[j]) ^ (0x80000000 if ok else 0))
    assert list(old_run(load, body, A)) == expected


def test_vote_without_members(load):
    body = """
    setp.ge.u32 %p0, %r0, 5; vote.all.pred %p1, %p0; vote.any.pred %p2, !%p0; vote.uni.pred %p3, %p0; vote.ballot.b32 %r2, %p0;
    selp.u32 %r3, 1, 0, %p1; selp.u32 %r4, 2, 0, %p2; selp.u32 %r5, 4, 0, %p3;
    and.b32 %r2, %r2, -8; or.b32 %r2, %r2, %r3; or.b32 %r2, %r2, %r4; or.b32 %r2, %r2, %r5;"""
    assert (old_run(load, body, A) == 0xFFFFFFE0 | 2).all()
