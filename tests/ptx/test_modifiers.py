"""Modifiers in other orders than the manual's: assemblers take them, code generators write them."""

import itertools
import shutil
import subprocess

import pytest

from . import driver as ptx

HEAD = """.version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k() {
.reg .b64 %rd<4>; .reg .b32 %r<6>; .reg .f32 %f<6>; .reg .b16 %h<4>; .reg .pred %p<2>;
"""
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
WRONG = [  # twice the same, types the other way round, what is no modifier there
    "atom.gpu.gpu.add.u32 %r0, [%rd0], %r1;",
    "ld.global.global.u32 %r0, [%rd0];",
    "add.rn.rz.f32 %f0, %f1, %f2;",
    "add.f32.rn.rn %f0, %f1, %f2;",
    "cvt.rn.f32.f16 %h0, %f0;",
    "cvt.relu.f32.rn.f16 %h0, %f0;",
    "add.ftz.u32 %r0, %r1, %r2;",
    "ld.u32.u32.global %r0, [%rd0];",
    "setp.lt.gt.f32 %p0, %f1, %f2;",
]


def statements():
    for opcode, operands in ANYHOW.items():
        word, *modifiers = opcode.split(".")
        for order in itertools.permutations(modifiers):
            yield f"{'.'.join([word, *order])} {operands};"


def test_modifiers_in_any_order(load):
    load(HEAD + "\n".join(statements()) + "\nret; }\n")


@pytest.mark.parametrize("statement", WRONG)
def test_what_is_no_order_of_them(statement, driver):
    with pytest.raises(ptx.DriverError) as error:
        driver.load(HEAD + statement + "\nret; }\n")
    assert error.value.code == ptx.INVALID_PTX


@pytest.mark.skipif(not shutil.which("ptxas"), reason="no ptxas")
def test_ptxas_takes_the_same(tmp_path):
    for body, all_wrong in ((list(statements()), False), (WRONG, True)):
        for part in [[s] for s in body] if all_wrong else [body]:
            (tmp_path / "k.ptx").write_text(HEAD + "\n".join(part) + "\nret; }\n")
            command = ["ptxas", "-arch=sm_90", "-O0", "k.ptx", "-o", "k.cubin"]
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
            assert (done.returncode != 0) == all_wrong, (part[:1], done.stderr)
