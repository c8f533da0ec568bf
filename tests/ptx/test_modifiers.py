"""Modifiers in other orders than the manual's: assemblers take them, code generators write them."""

import itertools
import subprocess

import driver_abi
import numpy as np
import pytest

HEAD = """.version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k() {
.reg .b64 %rd<4>; .reg .b32 %r<6>; .reg .f32 %f<6>; .reg .b16 %h<4>; .reg .pred %p<2>;
.shared .align 8 .b64 m;
"""
END = "\nDONE: ret; }\n"
ANYHOW = {
    "ld.global.gpu.acquire.u32": "%r0, [%rd0]",
    "ld.global.ca.v2.u32": "{%r0, %r1}, [%rd0]",
    "ld.global.L1::evict_last.L2::cache_hint.u32": "%r0, [%rd0], %rd1",
    "st.global.gpu.release.u32": "[%rd0], %r0",
    "atom.global.gpu.acq_rel.add.f32": "%f0, [%rd0], %f1",
    "atom.global.cas.sys.relaxed.b32": "%r0, [%rd0], %r1, %r2",
    "red.global.gpu.relaxed.add.u32": "[%rd0], %r0",
    "fma.rn.ftz.sat.f32": "%f0, %f1, %f2, %f3",
    "min.NaN.ftz.f32": "%f0, %f1, %f2",
    "setp.lt.ftz.f32": "%p0, %f1, %f2",
    "fence.acq_rel.gpu": "",
}
MATRICES = {  # behind "sync.aligned"
    "ldmatrix.m8n8.x4.trans.shared.b16": "{%r0, %r1, %r2, %r3}, [%rd0]",
    "stmatrix.m8n8.x2.trans.shared.b16": "[%rd0], {%r0, %r1}",
    "movmatrix.m8n8.trans.b16": "%r0, %r1",
}
SPACED = [  # blanks before modifiers
    "lop3 .b32 %r0, %r1, %r2, %r3, 106;", "add\n.s32 %r0, %r1, %r2;",
    "add /* of */ .sat .s32 %r0, %r1, %r2;", "ld .global .L1::evict_last .u32 %r0, [%rd0];",
    "@%p0 bra .uni DONE;", "bar .sync 0;", "mov.u32 %r0, %tid .x;",
    "mov .u32 %r1, %ntid // threads\n.x;", "membar .gl;",
]  # fmt: skip
# A modifier twice, types in the wrong order, a modifier that the row lacks, blanks elsewhere.
WRONG = [
    "atom.gpu.gpu.add.u32 %r0, [%rd0], %r1;",
    "ld.global.global.u32 %r0, [%rd0];",
    "add.rn.rz.f32 %f0, %f1, %f2;",
    "add.f32.rn.rn %f0, %f1, %f2;",
    "cvt.rn.f32.f16 %h0, %f0;",
    "cvt.relu.f32.rn.f16 %h0, %f0;",
    "add.ftz.u32 %r0, %r1, %r2;",
    "ld.u32.u32.global %r0, [%rd0];",
    "setp.lt.gt.f32 %p0, %f1, %f2;",
    "ldmatrix.sync.aligned.x1.m8n8.x1.shared.b16 {%r0}, [%rd0];",
    "add. s32 %r0, %r1, %r2;",
    "ld.global.L1 ::evict_last.u32 %r0, [%rd0];",
    "ld.global .L1:: evict_last.u32 %r0, [%rd0];",
]

REFUSED = [  # an order without a scope, a scope without an order, and what else goes not together
    *[f"{how}.u32 %r0, [%rd0];" for how in (
        "ld.relaxed", "ld.acquire.global", "ld.gpu", "ld.weak.cta", "ld.volatile.sys.shared",
        "ld.relaxed.gpu.local", "ld.acquire.cta.const", "ld.global.ca.cg",
        "ld.global.lu.nc", "ld.nc", "ld.shared.nc", "ld.weak.global.nc", "ld.global.wb",
        "ldu.shared", "ldu.local", "ldu.const")],
    *[f"{how}.u32 [%rd0], %r0;" for how in (
        "st.release", "st.relaxed.shared", "st.cluster", "st.weak.gpu",
        "st.global.ca", "st.global.wb.cs", "red.acquire.gpu.add", "red.acq_rel.gpu.global.add")],
    "fence;", "fence.sc;", "fence.acq_rel;", "fence.proxy.tensormap::generic.release;",
    "mbarrier.arrive.release.shared.b64 %rd1, [m];", "mbarrier.arrive.cta.shared.b64 %rd1, [m];",
    "mbarrier.arrive.release.gpu.shared.b64 %rd1, [m];", "mbarrier.expect_tx.relaxed.b64 [m], %r0;",
    "mbarrier.try_wait.acquire.shared.b64 %p0, [m], %rd1;",
    "mbarrier.test_wait.parity.sys.shared.b64 %p0, [m], %r1;",
    "red.async.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r0], %r1, [%r2];",
    "red.async.relaxed.gpu.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r0], %r1, [%r2];",
    *[f"setmaxnreg.inc.sync.aligned.u32 {n};" for n in (0, 16, 25, 255, 264)],
    *[f"applypriority.global.L2::evict_normal [%rd0], {n};" for n in (0, 64, 256)],
    "discard.global.L2 [%rd0], 64;", "elect.sync %r0, -1;", "elect.sync %r0|_, -1;",
    "lop3.or.b32 %r0, %r1, %r2, %r3, 1, %p1;",
]  # fmt: skip
# A compiler emits these, and programs that hold them run; ptxas refuses them.
TAKEN_HERE = ["ld.volatile.local.u32 %r0, [%rd0];", "st.volatile.local.u32 [%rd0], %r0;"]
TAKEN = [
    "ld.relaxed.cta.shared.u32 %r0, [%rd0];", "ld.mmio.relaxed.sys.global.u32 %r0, [%rd0];",
    "ld.global.ca.nc.u32 %r0, [%rd0];", "ld.global.nc.cs.u32 %r0, [%rd0];",
    "ld.global.cv.u32 %r0, [%rd0];", "st.global.wt.u32 [%rd0], %r0;", "ldu.u32 %r0, [%rd0];",
    "ld.volatile.shared.u32 %r0, [%rd0];", "red.release.gpu.add.u32 [%rd0], %r0;",
    "atom.acquire.add.u32 %r0, [%rd0], %r1;", "atom.gpu.add.u32 %r0, [%rd0], %r1;", "fence.sc.gpu;",
    "mbarrier.arrive.relaxed.cluster.shared.b64 %rd1, [m];",
    "mbarrier.try_wait.acquire.cta.shared.b64 %p0, [m], %rd1;",
    "setmaxnreg.dec.sync.aligned.u32 24;", "setmaxnreg.inc.sync.aligned.u32 256;",
    "elect.sync _|%p0, -1;", "lop3.or.b32 _|%p0, %r1, %r2, %r3, 1, %p1;",
]  # fmt: skip


def statements():
    for opcodes, fixed in ((ANYHOW, []), (MATRICES, ["sync", "aligned"])):
        for opcode, operands in opcodes.items():
            word, *modifiers = opcode.split(".")
            for order in itertools.permutations(modifiers):
                yield f"{'.'.join([word, *fixed, *order])} {operands};"


def test_modifiers_in_any_order(load):
    load(HEAD + "\n".join([*statements(), *TAKEN, *SPACED]) + END)


def test_blanks_before_modifiers_change_nothing(load):
    text = """.version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out) {
    .reg .b64 %rd<4>; .reg .b32 %r<6>; ld .param .u64 %rd0, [out]; cvta.to .global .u64 %rd0, %rd0;
    mov .u32 %r0, %tid .x; mul.wide .u32 %rd1, %r0, 4; add .u64 %rd0, %rd0, %rd1;
    mad.lo // 3 x + 7
    .u32 %r1, %r0, 3, 7; st .global .u32 [%rd0], %r1; ret; }"""
    out = np.zeros(32, np.uint32)
    load(text).run("k", 1, 32, [out])
    np.testing.assert_array_equal(out, np.arange(32) * 3 + 7)


@pytest.mark.cpu_only(reason="ptxas, and so NVIDIA's driver, refuses them")
@pytest.mark.parametrize("statement", TAKEN_HERE)
def test_volatile_accesses_of_local_memory(statement, load):
    load(HEAD + statement + END)


@pytest.mark.parametrize("statement", WRONG + REFUSED)
def test_what_is_no_order_of_them(statement, driver):
    with pytest.raises(driver_abi.DriverError) as error:
        driver.load(HEAD + statement + END)
    assert error.value.code == driver_abi.INVALID_PTX


def test_ptxas_takes_the_same(tmp_path, ptxas):
    for part in [
        [*statements(), *TAKEN, *SPACED],
        *[[wrong] for wrong in WRONG + REFUSED + TAKEN_HERE],
    ]:
        (tmp_path / "k.ptx").write_text(HEAD + "\n".join(part) + END)
        command = [ptxas, "-arch=sm_90a", "-O0", "k.ptx", "-o", "k.cubin"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert (done.returncode == 0) == (len(part) > 1), (part[:1], done.stderr)
