# ruff: noqa: E501 - PTX text is wide
"""The race check of asynchronous operations on tensor memory, of wgmma, st.async and red.async.

Each program is right. A test takes one wait out of it, or puts one access into it, and the check
has to name the lines of both accesses.
"""

import os
from functools import partial

import numpy as np
import pytest
from ptx import tensor_memory
from ptx.test_tensor_product import Case

from .race_runs import by_line, changed, messages, named

pytestmark = pytest.mark.skipif(
    "CUPOLA_TEST_DRIVER" in os.environ, reason="asks devices of several compute capabilities"
)


@pytest.fixture
def check(tmp_path):
    """Runs a kernel under the race check, and returns the messages."""
    return partial(messages, tmp_path)


CASE = Case(n=16, steps=2)


def product(case=CASE):
    rng = np.random.default_rng(3)
    a, b, c = case.data(lambda shape, _: rng.integers(-3, 4, shape).astype(np.float64))
    return by_line(case.kernel()), case.arrays(a, b, c)


COMMIT = "@%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r9];"
POLL = "mbarrier.try_wait.parity.shared.b64 %p3, [%r9], 0;\n@!%p3 bra wait;"
MMA = "@%p1 tcgen05.mma"


@pytest.mark.parametrize(
    "case", [CASE, Case(n=16, steps=1, in_memory=True), Case(m=64, n=16)], ids=str
)
def test_a_right_product_is_not_blamed(case, check):
    assert check(*product(case)) == ""


def test_an_accumulator_is_read_before_the_commit_has_arrived(check):
    kernel, arrays = product()
    kernel = changed(kernel, POLL)
    said = check(kernel, arrays)
    assert (
        "read before an asynchronous operation of the tensor cores is complete in tensor memory"
        in said
    )
    assert named(said, kernel, "tcgen05.ld", "tcgen05.mma"), said


def test_a_commit_before_the_product_does_not_count_it(check):
    kernel, arrays = product()
    kernel = changed(changed(kernel, COMMIT), MMA, COMMIT + "\n" + MMA)
    said = check(kernel, arrays)
    assert named(said, kernel, "tcgen05.ld", "tcgen05.mma"), said


def test_a_product_before_the_stores_of_its_accumulator_are_complete(check):
    kernel, arrays = product()
    kernel = changed(kernel, "tcgen05.wait::st.sync.aligned;")
    said = check(kernel, arrays)
    assert named(said, kernel, "tcgen05.st", "tcgen05.mma"), said


def test_a_factor_changes_before_the_product_is_complete(check):
    kernel, arrays = product()
    kernel = changed(kernel, COMMIT, "@%p1 st.shared.u32 [%r5], 7;\n" + COMMIT)
    said = check(kernel, arrays)
    assert "in shared memory" in said and named(
        said, kernel, "st.shared.u32 [%r5], 7", "tcgen05.mma"
    ), said


def test_a_register_is_used_before_its_load_is_complete(check):
    kernel, arrays = product()
    kernel = changed(kernel, "tcgen05.wait::ld.sync.aligned;")
    said = check(kernel, arrays)
    assert "a register is used before tcgen05.ld is complete" in said and "tcgen05.wait::ld" in said
    assert named(said, kernel, "tcgen05.ld", "st.global"), said


def test_a_product_overwrites_what_a_load_reads(check):
    kernel, arrays = product()
    load = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r200}, [%r4];"
    kernel = changed(kernel, MMA, load + "\nbar.sync 0;\n" + MMA)
    said = check(kernel, arrays)
    assert named(said, kernel, "tcgen05.ld", "tcgen05.mma"), said
    waits = load + "\ntcgen05.wait::ld.sync.aligned;"
    assert check(changed(kernel, load, waits), arrays) == ""


def whole(statement, issuer=None):
    """A statement of one thread in the frame of the tests of tcgen05.cp and tcgen05.shift."""
    kernel = tensor_memory.whole(statement, 1, room=4096, issuer=issuer)
    blocks = 1 if issuer is None else 2
    cells = blocks * tensor_memory.LANES * tensor_memory.COLUMNS
    descriptor = 1 << 46 | (128 >> 4) << 16 | (256 >> 4) << 32
    arrays = [np.zeros(cells, np.uint32) for _ in range(2)]
    arrays += [np.zeros(blocks * 4096, np.uint8), np.array([descriptor, 0], np.uint64)]
    return by_line(kernel), arrays, blocks


STATEMENTS = {
    "copy": "tcgen05.cp.cta_group::1.128x128b [%r3], {d0}",
    "shift": "tcgen05.shift.cta_group::1.down [%r3]",
}


@pytest.mark.parametrize("issuer", [None, 0, 1], ids=["one", "first", "second"])
@pytest.mark.parametrize("which", STATEMENTS)
def test_copies_and_shifts(which, issuer, check):
    """Also for the peer of the block that executes them."""
    kernel, arrays, blocks = whole(STATEMENTS[which], issuer)
    assert check(kernel, arrays, blocks=blocks) == ""
    kernel = changed(kernel, POLL)
    said = check(kernel, arrays, blocks=blocks)
    assert "in tensor memory" in said
    assert named(said, kernel, "tcgen05.ld", STATEMENTS[which].split(".cta")[0]), said


WGMMA = """.version 8.6\n.target sm_90a\n.address_size 64
.visible .entry k(.param .u64 p0) {
.shared .align 1024 .b8 room[4096];
.reg .b32 %r<8>; .reg .b64 %d<4>; .reg .f32 %f<8>; .reg .pred %p<2>;
ld.param.u64 %d0, [p0]; mov.u32 %r0, %tid.x; mov.u32 %r1, room; shl.b32 %r2, %r0, 2; add.u32 %r2, %r1, %r2;
mov.u32 %r3, 0; fill: st.shared.u32 [%r2], 0; add.u32 %r2, %r2, 512; add.u32 %r3, %r3, 1; setp.lt.u32 %p0, %r3, 8; @%p0 bra fill;
fence.proxy.async; bar.sync 0; cvt.u64.u32 %d1, %r1; shr.u64 %d1, %d1, 4; add.u64 %d1, %d1, 0x1000080000;
mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0; setp.ne.u32 %p1, %r0, 999;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d1, %d1, %p1, 1, 1, 0, 0;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d1, %d1, %p1, 1, 1, 0, 0;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0; bar.sync 0; st.shared.u32 [%r1], 1;
mul.wide.u32 %d2, %r0, 4; add.u64 %d0, %d0, %d2; st.global.f32 [%d0], %f1; ret; }
"""


def test_groups_of_products(check):
    kernel, arrays = by_line(WGMMA), [np.zeros(128, np.float32)]
    assert check(kernel, arrays, capability="9.0") == ""
    for old, new in [
        ("wgmma.wait_group.sync.aligned 0;", ""),
        ("aligned 0;", "aligned 1;"),
        ("wgmma.commit_group.sync.aligned;", ""),
    ]:
        wrong = changed(kernel, old, new)
        said = check(wrong, arrays, capability="9.0")
        assert "a register is used before wgmma.mma_async is complete" in said, (old, said)
        assert "in shared memory" in said
        assert named(said, wrong, "wgmma.mma_async", "st.global.f32", "st.shared.u32 [%r1], 1"), (
            said
        )


FAR = """.version 8.6\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 p0) .explicitcluster .reqnctapercluster 2 {{
.shared .align 8 .b64 bar; .shared .align 16 .b8 cell[16];
.reg .b32 %r<12>; .reg .b64 %d<4>; .reg .pred %p<2>;
ld.param.u64 %d0, [p0]; mov.u32 %r1, bar; mov.u32 %r2, cell; mov.u32 %r3, %cluster_ctarank; xor.b32 %r4, %r3, 1;
st.shared.u32 [%r2], 0; mbarrier.init.shared.b64 [%r1], 1; fence.mbarrier_init.release.cluster; mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 4;
barrier.cluster.arrive; barrier.cluster.wait; mapa.shared::cluster.u32 %r5, %r1, %r4; mapa.shared::cluster.u32 %r6, %r2, %r4;
{} [%r6], 5, [%r5];
wait: mbarrier.try_wait.parity.shared.b64 %p0, [%r1], 0; @!%p0 bra wait;
ld.shared.u32 %r7, [%r2]; mul.wide.u32 %d1, %r3, 4; add.u64 %d0, %d0, %d1; st.global.u32 [%d0], %r7;
barrier.cluster.arrive; barrier.cluster.wait; ret; }}
"""
NEAR = "shared::cluster.mbarrier::complete_tx::bytes"


@pytest.mark.parametrize(
    "store", [f"st.async.weak.{NEAR}.u32", f"red.async.relaxed.cluster.{NEAR}.add.u32"]
)
def test_stores_in_another_block(store, check):
    kernel, arrays = by_line(FAR.format(store)), [np.zeros(2, np.uint32)]
    assert check(kernel, arrays, 1, 2, "9.0") == ""
    wrong = changed(kernel, "mbarrier.try_wait.parity.shared.b64 %p0, [%r1], 0;\n@!%p0 bra wait;")
    said = check(wrong, arrays, 1, 2, "9.0")
    assert "by an asynchronous copy" in said and "in shared memory" in said
    assert named(said, wrong, "ld.shared.u32 %r7", store), said
