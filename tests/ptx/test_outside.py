# ruff: noqa: E501 - PTX text is wide
"""fma.oob beside the bits of an H200: no manual says which NaN stands for what is outside of a tensor."""

import pathlib

import numpy as np
import pytest

RECORDED = np.load(pathlib.Path(__file__).parent / "recorded" / "nvidia-h200-fma-oob.npz")


def results(load, form, bits, a, b, c):
    text = f""".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 po, .param .u32 count) {{
    .reg .b64 %d<8>; .reg .b32 %r<8>; .reg .b{bits} %x<4>; .reg .pred %p;
    ld.param.u64 %d0, [pa]; ld.param.u64 %d1, [pb]; ld.param.u64 %d2, [pc]; ld.param.u64 %d3, [po]; ld.param.u32 %r3, [count];
    mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r0, %r0, %r1, %r2; setp.ge.u32 %p, %r0, %r3; @%p bra END;
    mul.wide.u32 %d4, %r0, {bits // 8}; add.u64 %d0, %d0, %d4; add.u64 %d1, %d1, %d4; add.u64 %d2, %d2, %d4; add.u64 %d3, %d3, %d4;
    ld.global.b{bits} %x0, [%d0]; ld.global.b{bits} %x1, [%d1]; ld.global.b{bits} %x2, [%d2]; {form} %x3, %x0, %x1, %x2; st.global.b{bits} [%d3], %x3; END: ret; }}"""
    out = np.zeros_like(a)
    load(text).run("k", -(-a.size // 128), 128, [a, b, c, out, np.uint32(a.size)])
    return out


@pytest.mark.parametrize("form", sorted(RECORDED))
def test_one(form, load):
    a, b, c, expected = map(np.ascontiguousarray, RECORDED[form])
    assert (results(load, form, 16, a, b, c) == expected).all()
    outside = np.isin(a & 0x7FFF, 0x7FF7) | np.isin(b & 0x7FFF, 0x7FF7)
    assert outside.sum() > 4 and (expected[outside] == 0).all()


@pytest.mark.parametrize("form", sorted(RECORDED))
def test_two(form, load):
    """Each half by itself."""
    packed = [x | x[::-1].astype(np.uint32) << 16 for x in RECORDED[form].astype(np.uint32)]
    a, b, c, expected = map(np.ascontiguousarray, packed)
    assert (results(load, form + "x2", 32, a, b, c) == expected).all()
