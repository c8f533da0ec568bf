# ruff: noqa: E501 - PTX text and tables of it are wide
"""`.texmode_unified` and `.texmode_independent`: what NVIDIA's assembler takes, and what it says."""

import pytest

from . import driver as ptx

NOT_FOUND = 500
HEAD = ".version 8.6\n.target sm_75%s\n.address_size 64\n.global .texref t;\n"
FETCH = ".visible .entry k() { .reg .f32 %%f<4>; .reg .b64 %%d<2>; %s ret; }"
PLAIN = "tex.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [t, {%f0}];"
SAMPLED = "tex.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [t, s, {%f0}];"
HELD = "mov.u64 %d0, t; mov.u64 %d1, s; tex.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d0, %d1, {%f0}];"
MODES = {  # target, declaration, statements, the line and what is said there; of NVIDIA's assembler
    "unified": (", texmode_unified", "", PLAIN, None),
    "a sampler declared": (", texmode_independent", ".global .samplerref s;", "", None),
    "no mode": (", texmode_bindless", "", "", (2, "an unknown texturing mode")),
    "two modes": (", texmode_unified, texmode_independent", "", "", (2, "two texturing modes")),
    "no target": (", nonsense", "", "", (2, "an unknown target")),
    "a sampler in unified mode": ("", ".global .samplerref s;", "", (5, "texmode_independent")),
    "no sampler": (", texmode_independent", "", PLAIN, (6, "a sampler is wanted")),
    "a texture for a sampler": (", texmode_independent", "", SAMPLED.replace("s,", "t,"), (6, "a sampler is wanted")),
}  # fmt: skip


@pytest.mark.parametrize("what", MODES)
def test_texturing_modes(load, driver, what):
    target, declared, body, refused = MODES[what]
    text = HEAD % target + declared + "\n" + FETCH % body
    if refused is None:
        if driver.on_hardware and declared:  # assembled, but NVIDIA's driver loads no sampler
            with pytest.raises(ptx.DriverError) as error:
                load(text)
            assert error.value.code == NOT_FOUND
        else:
            load(text)
        return
    with pytest.raises(ptx.DriverError) as error:
        load(text)
    assert error.value.code == ptx.INVALID_PTX
    line, said = refused
    if not driver.on_hardware:
        assert f"line {line}:" in error.value.log and said in error.value.log


@pytest.mark.parametrize("body", [SAMPLED, HELD])
def test_fetches_with_samplers_of_their_own_are_refused(load, driver, body):
    """No call of the driver binds one; NVIDIA's assembler takes them."""
    if driver.on_hardware:
        pytest.skip("a limit of cupola's own")
    with pytest.raises(ptx.DriverError) as error:
        load(HEAD % ", texmode_independent" + ".global .samplerref s;\n" + FETCH % body)
    assert error.value.code == ptx.INVALID_PTX
    assert "line 6: textures with a sampler of their own are not supported" in error.value.log
