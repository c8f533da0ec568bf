# ruff: noqa: E501 - PTX text is wide
"""The race check of a pair of blocks: operations of one block on the memory of both.

Each program is right. A test takes one wait out of it, mostly in one of the blocks, and the check
has to name the lines of both accesses.
"""

import os
import re
from functools import partial

import numpy as np
import pytest
from ptx.test_tensor_pairs import ALLOCATE, FREE, PLAIN, SYNC, Pair, text

from .race_runs import by_line, changed, messages, named

pytestmark = pytest.mark.skipif(
    "CUPOLA_TEST_DRIVER" in os.environ, reason="asks a device of another compute capability"
)


@pytest.fixture
def check(tmp_path):
    """Runs a kernel in a pair of blocks under the race check, and returns the messages."""
    return partial(messages, tmp_path, blocks=2)


def product(issuer=0, m=256, in_memory=False):
    case = Pair("f16", m, 32, PLAIN, PLAIN, in_memory, issuer=issuer)
    rng = np.random.default_rng(3)
    a, b, c = (
        rng.integers(-3, 4, shape).astype(kind)
        for shape, kind in [((m, 32), np.float16), ((32, 32), np.float16), ((m, 32), np.float32)]
    )
    return by_line(case.kernel()), case.arrays(a, b, c)


WAIT = "wait:\nmbarrier.try_wait.parity.shared.b64 %p3, [%r9], 0;\n@!%p3 bra wait;"
COMMIT = "@%p5 tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r9], %h1;"
MMA = "@%p5 tcgen05.mma"
MASK = "mov.u16 %h1, 3;\n"
FILLED = by_line(f"fence.proxy.async; tcgen05.fence::before_thread_sync; {SYNC} ")
ISSUERS = pytest.mark.parametrize("issuer", [0, 1], ids=["first", "second"])
RANKS = pytest.mark.parametrize("rank", [0, 1], ids=["in_first", "in_second"])


def but_in(rank, statements, label="past"):
    """Statements that one block passes over."""
    return f"setp.eq.u32 %p7, %r30, {rank};\n@%p7 bra {label};\n{statements}\n{label}:\n"


def only_in(rank, statements, label="past"):
    return f"setp.ne.u32 %p7, %r30, {rank};\n@%p7 bra {label};\n{statements}\n{label}:\n"


@ISSUERS
@pytest.mark.parametrize(("m", "in_memory"), [(256, False), (128, False), (256, True)])
def test_a_right_product_is_not_blamed(issuer, m, in_memory, check):
    assert check(*product(issuer, m, in_memory)) == ""


@ISSUERS
@RANKS
def test_an_accumulator_is_read_before_the_commit_has_arrived(issuer, rank, check):
    kernel, arrays = product(issuer)
    kernel = changed(kernel, WAIT, but_in(rank, WAIT))
    said = check(kernel, arrays)
    assert "in tensor memory" in said
    assert named(said, kernel, "tcgen05.ld", "tcgen05.mma"), said
    readers = re.findall(r"block \((\d),0,0\), thread \([\d,]+\) reads? by an", said)
    assert set(readers) == {str(rank)}, said


@ISSUERS
def test_a_commit_before_the_product_does_not_count_it(issuer, check):
    kernel, arrays = product(issuer)
    kernel = changed(changed(kernel, COMMIT), MMA, MASK + COMMIT + "\n" + MMA)
    said = check(kernel, arrays)
    assert named(said, kernel, "tcgen05.ld", "tcgen05.mma"), said


@RANKS
def test_a_product_before_the_stores_of_an_accumulator_are_complete(rank, check):
    """Also those of the peer, to its own tensor memory."""
    kernel, arrays = product()
    wait = "tcgen05.wait::st.sync.aligned;"
    kernel = changed(kernel, wait, but_in(rank, wait))
    said = check(kernel, arrays)
    assert named(said, kernel, "tcgen05.st", "tcgen05.mma"), said


def test_a_product_before_the_peer_has_stored_its_factors(check):
    """A barrier of each block is no barrier of both."""
    kernel, arrays = product()
    alone = FILLED.replace(by_line(SYNC + " "), "bar.sync 0;\n")
    assert alone != FILLED
    kernel = changed(kernel, FILLED, alone)
    said = check(kernel, arrays)
    assert named(said, kernel, "st.shared.u32", "tcgen05.mma"), said
    assert "in shared memory" in said


@ISSUERS
@RANKS
def test_a_factor_changes_before_the_product_is_complete(issuer, rank, check):
    kernel, arrays = product(issuer)
    store = "@%p1 st.shared.u32 [%r5], 7;"
    right = changed(kernel, WAIT, WAIT + "\n" + only_in(rank, store))
    assert check(right, arrays) == ""
    wrong = changed(kernel, WAIT, only_in(rank, store) + WAIT)
    said = check(wrong, arrays)
    assert "in shared memory" in said
    assert named(said, wrong, "st.shared.u32 [%r5], 7", "tcgen05.mma"), said


@RANKS
def test_a_product_overwrites_what_a_load_reads(rank, check):
    kernel, arrays = product()
    load = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r200}, [%r4];"
    waits = load + "\ntcgen05.wait::ld.sync.aligned;"
    both = by_line(SYNC + " ")
    right = changed(kernel, MMA, only_in(rank, waits) + both + MMA)
    assert check(right, arrays) == ""
    wrong = changed(kernel, MMA, only_in(rank, load) + both + MMA)
    said = check(wrong, arrays)
    assert named(said, wrong, "tcgen05.ld.sync.aligned.32x32b.x1", "tcgen05.mma"), said


@RANKS
def test_a_register_is_used_before_its_load_is_complete(rank, check):
    kernel, arrays = product()
    wait = "tcgen05.wait::ld.sync.aligned;"
    kernel = changed(kernel, wait, but_in(rank, wait))
    said = check(kernel, arrays)
    assert "a register is used before tcgen05.ld is complete" in said
    assert named(said, kernel, "tcgen05.ld", "st.global"), said


# A ring of one stage. Each block copies a part of its rows of A, twice, into the same bytes. The
# first block waits for the bytes of both, multiplies, and tells both blocks that the bytes are free.
COPY = "@%p1 cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2 [%r5], [%d1, {%r13}], [%r14];"
STEP = """@%p5 mbarrier.arrive.expect_tx.shared.b64 _, [%r9], 2048; {copy} @%p6 bra multiplied{n};
full{n}: mbarrier.try_wait.parity.shared.b64 %p3, [%r9], {n}; @!%p3 bra full{n};
@%p5 tcgen05.mma.cta_group::2.kind::f16 [%r3], %d12, %d13, %r12, %p4; {commit}
multiplied{n}: """
COMMIT_BYTES = "@%p5 tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r10], %h1;"


def ring():
    """%d0: D; %d1: a map of each block, of zero bytes; %d2: A."""
    steps = [STEP.format(n=n, copy=COPY, commit=COMMIT_BYTES) for n in range(2)]
    body = f""".shared .align 8 .b64 empty; mov.u32 %r9, bar; mov.u32 %r10, empty; setp.eq.u32 %p1, %r0, 0;
setp.eq.and.u32 %p5, %r30, 0, %p1; setp.ne.u32 %p6, %r30, 0; setp.ne.u32 %p4, %r0, 999; mov.u16 %h1, 3;
@%p1 mbarrier.init.shared.b64 [%r9], 1; @%p1 mbarrier.init.shared.b64 [%r10], 1; fence.mbarrier_init.release.cluster;
mul.wide.u32 %d9, %r30, 128; add.u64 %d1, %d1, %d9; mul.wide.u32 %d9, %r30, 1024; add.u64 %d2, %d2, %d9;
@!%p1 bra made; tensormap.replace.tile.global_address.global.b1024.b64 [%d1], %d2; tensormap.replace.tile.elemtype.global.b1024.b32 [%d1], 2;
tensormap.replace.tile.global_dim.global.b1024.b32 [%d1], 0, 256; tensormap.replace.tile.box_dim.global.b1024.b32 [%d1], 0, 256;
fence.proxy.tensormap::generic.acquire.gpu [%d1], 128; made: {SYNC} mov.u32 %r13, 0; mov.u32 %r12, {1 << 4 | 4 << 17 | 16 << 24};
mov.u32 %r5, room; mapa.shared::cluster.u32 %r14, %r9, 0; cvt.u64.u32 %d12, %r5; shr.u64 %d12, %d12, 4; and.b64 %d12, %d12, 0x3fff;
add.u64 %d12, %d12, {1 << 46 | 8 << 16 | 16 << 32}; add.u64 %d13, %d12, 256;
{steps[0]}free: mbarrier.try_wait.parity.shared.b64 %p3, [%r10], 0; @!%p3 bra free; {steps[1]}
last: mbarrier.try_wait.parity.shared.b64 %p3, [%r10], 1; @!%p3 bra last;
tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r200}}, [%r4]; tcgen05.wait::ld.sync.aligned; shl.b32 %r6, %r30, 9;
shl.b32 %r7, %r0, 2; add.u32 %r6, %r6, %r7; cvt.u64.u32 %d9, %r6; add.u64 %d0, %d0, %d9; st.global.u32 [%d0], %r200; """
    kernel = text(ALLOCATE.format(columns=32) + body + FREE.format(columns=32), 3, room=8192)
    arrays = [np.zeros(256, np.uint32), np.zeros(256, np.uint8), np.zeros(512, np.uint32)]
    return by_line(kernel), arrays


def test_a_right_ring_is_not_blamed(check):
    assert check(*ring()) == ""


def test_a_product_before_the_bytes_have_arrived(check):
    kernel, arrays = ring()
    kernel = changed(kernel, "mbarrier.try_wait.parity.shared.b64 %p3, [%r9], 0;\n@!%p3 bra full0;")
    said = check(kernel, arrays)
    assert "in shared memory" in said
    assert named(said, kernel, "cp.async.bulk.tensor", "tcgen05.mma"), said


@RANKS
def test_a_copy_before_the_bytes_are_free(rank, check):
    """The first block has waited for its copy, so its product is named. In the second block no thread
    waits for the bytes, so the copy before is named.
    """
    kernel, arrays = ring()
    copy = by_line(COPY)
    before, after = kernel.split("free:\n")
    kernel = (
        f"{before}{only_in(rank, copy, 'early')}free:\n{changed(after, copy, but_in(rank, copy))}"
    )
    said = check(kernel, arrays)
    assert "in shared memory" in said
    assert len(set(re.findall(r"line (\d+)", said))) == 2
    assert named(said, kernel, "cp.async.bulk.tensor"), said
    assert named(said, kernel, "tcgen05.mma") == (rank == 0), said


def test_bytes_are_free_before_the_product(check):
    kernel, arrays = ring()
    commit = COMMIT_BYTES.replace("; ", ";\n")
    mma = "@%p5 tcgen05.mma"
    kernel = changed(changed(kernel, commit), mma, commit + "\n" + mma)
    said = check(kernel, arrays)
    assert named(said, kernel, "cp.async.bulk.tensor", "tcgen05.mma"), said
