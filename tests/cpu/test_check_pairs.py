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
from ptx.test_tensor_pairs import CASES, PLAIN, SYNC, Pair

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
