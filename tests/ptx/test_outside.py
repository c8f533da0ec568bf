# ruff: noqa: E501 - PTX text is wide
"""fma.oob over every NaN, one of which stands for what is outside of a tensor: no manual says which."""

import functools

import numpy as np
import pytest

from . import reference

FORMS = [f"fma.rn.oob{relu}.{t}" for relu in ("", ".relu") for t in ("f16", "bf16")]


@functools.cache
def cases(form):
    """(a, b, c, what the reference gives): each special value in each place."""
    t = form.rpartition(".")[2]
    infinity, one = {"f16": (0x7C00, 0x3C00), "bf16": (0x7F80, 0x3F80)}[t]
    nans = np.arange(infinity, 0x8000)
    special = np.unique(np.concatenate([np.arange(0, 0x10000, 257), nans, nans | 0x8000]))
    others = np.full_like(special, one), np.full_like(special, 0x4000)
    turns = (np.roll([special, *others], n, 0) for n in range(3))
    places = list(map(np.concatenate, zip(*turns, strict=True)))
    named = {"relu": "relu" if "relu" in form else None}
    run = reference.FUNCTIONS["FmaInside"]
    sources = zip(*(p.tolist() for p in places), strict=True)
    expected = [run(named, t, None, *values)[0] for values in sources]
    return *(p.astype(np.uint16) for p in places), np.array(expected, np.uint16)


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


@pytest.mark.parametrize("form", FORMS)
def test_one(form, load):
    *sources, expected = cases(form)
    assert (results(load, form, 16, *sources) == expected).all()
    outside = np.isin(sources[0] & 0x7FFF, 0x7FF7) | np.isin(sources[1] & 0x7FFF, 0x7FF7)
    assert outside.sum() == 4 and (expected[outside] == 0).all()


@pytest.mark.parametrize("form", FORMS)
def test_two(form, load):
    """Each half by itself."""
    packed = [x | x[::-1].astype(np.uint32) << 16 for x in cases(form)]
    *sources, expected = map(np.ascontiguousarray, packed)
    assert (results(load, form + "x2", 32, *sources) == expected).all()
