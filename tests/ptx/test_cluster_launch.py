# ruff: noqa: E501 - PTX text is wide
"""clusterlaunchcontrol: a running block takes clusters that have not begun."""

import os

import driver_abi
import numpy as np
import pytest

from . import device_process
from .native_kernels import last_fault

pytestmark = pytest.mark.skipif(
    "CUPOLA_TEST_DRIVER" in os.environ, reason="asks devices of several compute capabilities"
)
COVERED = """
clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128
clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128
clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.multicast::cluster::all.b128
clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128
clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128
clusterlaunchcontrol.query_cancel.get_first_ctaid::z.b32.b128
"""
# The numbers of a block's cell: how often it was computed, and by which block. A block computes its
# own cell, then cells of blocks that it cancels, until no block is left.
PERSISTENT = """.version 9.5
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 pcells, .param .u64 pbegun) {head} {{
.shared .align 16 .b8 answer[32]; .shared .align 8 .b64 bar;
.reg .b64 %rd<16>; .reg .b32 %r<32>; .reg .pred %p<8>; .reg .b128 %q<4>;
ld.param.u64 %rd0, [pcells]; ld.param.u64 %rd1, [pbegun]; mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0;
mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.z; mov.u32 %r4, %nctaid.x; mov.u32 %r5, %nctaid.y; mov.u32 %r9, %cluster_ctarank;
mad.lo.u32 %r6, %r3, %r5, %r2; mad.lo.u32 %r6, %r6, %r4, %r1; mul.wide.u32 %rd2, %r6, 4; add.u64 %rd2, %rd1, %rd2; @%p0 red.global.add.u32 [%rd2], 1;
mov.u32 %r7, 0; @%p0 mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster; {begin}
NEXT: mad.lo.u32 %r6, %r3, %r5, %r2; mad.lo.u32 %r6, %r6, %r4, %r1; mul.wide.u32 %rd2, %r6, 4; add.u64 %rd2, %rd0, %rd2; @%p0 red.global.add.u32 [%rd2], 1;
@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;
{cancel}
WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [bar], %r7; @!%p1 bra WAIT; xor.b32 %r7, %r7, 1;
ld.shared.b128 %q0, [answer]; clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %q0; @!%p2 bra END;
{query}
{end} bra NEXT;
END: ret; }}"""
ONE = "@%p0 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [answer], [bar];"
GENERIC = "mov.u64 %rd5, answer; cvta.shared.u64 %rd5, %rd5; mov.u64 %rd6, bar; cvta.shared.u64 %rd6, %rd6; @%p0 clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128 [%rd5], [%rd6];"
VECTOR = "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r1, %r2, %r3, _}, %q0;"
EACH = "".join(f"clusterlaunchcontrol.query_cancel.get_first_ctaid::{axis}.b32.b128 %r{1 + n}, %q0;" for n, axis in enumerate("xyz"))  # fmt: skip
SYNC = "barrier.cluster.arrive; barrier.cluster.wait;"
# The first block asks for all; each block adds its own place in the cluster (of 2 x 1 x 1).
CLUSTER = {
    "head": ".explicitcluster .reqnctapercluster 2",
    "begin": SYNC,
    "cancel": "setp.eq.and.u32 %p3, %r9, 0, %p0; @%p3 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [answer], [bar];",
    "query": VECTOR + "add.u32 %r1, %r1, %r9;",
    "end": "fence.proxy.async.shared::cta; " + SYNC,
}


def kernel(cancel=ONE, query=VECTOR, head="", begin="bar.sync 0;", end="bar.sync 0;"):
    return PERSISTENT.format(cancel=cancel, query=query, head=head, begin=begin, end=end)


def run(text, grid, threads=32):
    """How often each cell was computed, and which blocks began."""
    count = int(np.prod(grid))
    cells, begun = np.zeros(count, np.uint32), np.zeros(count, np.uint32)
    device_process.driver().load(text).run("k", grid, threads, [cells, begun])
    return cells, begun


FORMS = {
    "shared": kernel(),
    "generic": kernel(GENERIC, EACH),
    "cluster": kernel(**CLUSTER),
}


@pytest.mark.parametrize("grid", [(1, 1, 1), (2, 1, 1), (64, 1, 1), (6, 5, 7), (2000, 1, 1)])
@pytest.mark.parametrize("form", FORMS)
def test_each_block_is_computed_once(form, grid, newer_devices):
    """A cancelled block never begins, and no block is lost."""
    if form == "cluster" and grid[0] % 2:
        grid = (grid[0] + 1, *grid[1:])
    cells, begun = newer_devices("10.0").run(run, FORMS[form], grid)
    assert (cells == 1).all()
    assert (begun <= 1).all() and begun[0] == 1
    if cells.size > 2:
        assert begun.sum() < cells.size


def modes(text, grid, variables):
    """In a process of its own: (cells, begun) of two launches."""
    import subprocess
    import sys

    call = f"import sys, numpy as np\nfrom ptx.test_cluster_launch import run\ntext = sys.stdin.read()\nfor _ in range(2):\n    cells, begun = run(text, {grid})\n    assert (cells == 1).all() and (begun <= 1).all(), (cells, begun)\nprint(int(begun.sum()))"
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return subprocess.run(
        [sys.executable, "-c", call], input=text, cwd=here, text=True, capture_output=True,
        env={**os.environ, "CUPOLA_CPU_COMPUTE_CAPABILITY": "10.0", **variables},
    )  # fmt: skip


@pytest.mark.parametrize("variables", [
    {"CUPOLA_CPU_MODE": "interpret"}, {"CUPOLA_CPU_MODE": "compile"}, {"CUPOLA_CPU_THREADS": "1"}, {"CUPOLA_CPU_THREADS": "4"},
    {"CUPOLA_CPU_ORDER": "random", "CUPOLA_CPU_SEED": "3"}, {"CUPOLA_CPU_CHECK": "memory"},
], ids=str)  # fmt: skip
def test_engines_and_orders(variables):
    done = modes(kernel(), (300, 1, 1), variables)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 300


def test_without_a_loop(newer_devices):
    """The queue of such a kernel is divided while its first block runs."""
    text = kernel().replace("bra NEXT;", "@%p0 red.global.add.u32 [%rd3], 1; ret;").replace(
        VECTOR, VECTOR + "mad.lo.u32 %r6, %r3, %r5, %r2; mad.lo.u32 %r6, %r6, %r4, %r1; mul.wide.u32 %rd3, %r6, 4; add.u64 %rd3, %rd0, %rd3;"
    )  # fmt: skip
    text = text.replace(
        "WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [bar], %r7; @!%p1 bra WAIT;", "bar.sync 0;"
    )
    cells, begun = newer_devices("10.0").run(run, text, (3000, 1, 1))
    assert (cells == 1).all() and (begun <= 1).all()
    assert begun.sum() < 3000


def test_a_cooperative_grid_has_no_block_left(newer_devices):
    assert newer_devices("10.0").run(cooperative) == ([1] * 6, [1] * 6)


def cooperative():
    import ctypes
    from ctypes import c_uint, c_uint64, c_void_p

    driver = device_process.driver()
    module = driver.load(kernel())
    at = c_uint64()
    driver.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(48))
    driver.cuMemsetD8_v2(at, ctypes.c_ubyte(0), ctypes.c_size_t(48))
    second = c_uint64(at.value + 24)
    pointers = (c_void_p * 2)(ctypes.addressof(at), ctypes.addressof(second))
    driver.cuLaunchCooperativeKernel(
        module.function("k"), *map(c_uint, (6, 1, 1, 32, 1, 1, 0)), c_void_p(), pointers
    )
    driver.cuCtxSynchronize()
    out = np.zeros(12, np.uint32)
    driver.cuMemcpyDtoH_v2(c_void_p(out.ctypes.data), at, ctypes.c_size_t(48))
    driver.library.cuMemFree_v2(at)
    return out[:6].tolist(), out[6:].tolist()


def faults(text, grid):
    driver = device_process.driver()
    try:
        run(text, grid)
    except driver_abi.DriverError:
        said = last_fault(driver)
        driver.reset()
        return said
    return ""


@pytest.mark.parametrize(("change", "said"), [
    (("[answer], [bar];", "[answer+8], [bar];"), "aligned"), (("[answer], [bar];", "[answer+4096], [bar];"), "shared memory of its own block"),
    (("[answer], [bar];", "[answer], [answer];"), "mbarrier"),
])  # fmt: skip
def test_hostile_addresses(change, said, newer_devices):
    text = kernel(ONE.replace(*change))
    assert said in newer_devices("10.0").run(faults, text, (2, 1, 1))
