# ruff: noqa: E501 - PTX text and tables of it are wide
"""`.texmode_unified` and `.texmode_independent`: what NVIDIA's assembler takes, and what it says."""

import re
import subprocess

import driver_abi
import pytest

NOT_FOUND, NOT_SUPPORTED = 500, 801
HEAD = ".version 8.6\n.target sm_75%s\n.address_size 64\n.global .texref t;\n"
FETCH = ".visible .entry k() { .reg .f32 %%f<4>; .reg .b64 %%d<2>; %s ret; }"
PLAIN = "tex.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [t, {%f0}];"
SAMPLED = "tex.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [t, s, {%f0}];"
HELD = "mov.u64 %d0, t; mov.u64 %d1, s; tex.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d0, %d1, {%f0}];"
MODES = {  # target, declaration, statements, the line and what is said there; of NVIDIA's assembler
    "unified": (", texmode_unified", "", PLAIN, None),
    "a sampler declared": (", texmode_independent", ".global .samplerref s;", "", None),
    "no mode": (", texmode_bindless", "", "", (2, "unknown texturing mode")),
    "two modes": (", texmode_unified, texmode_independent", "", "", (2, "exclude each other")),
    "no target": (", nonsense", "", "", (2, "unknown target")),
    "a sampler in unified mode": ("", ".global .samplerref s;", "", (5, "texmode_independent")),
    "no sampler": (", texmode_independent", "", PLAIN, (6, "expected a sampler")),
    "a texture for a sampler": (", texmode_independent", "", SAMPLED.replace("s,", "t,"), (6, "expected a sampler")),
}  # fmt: skip


@pytest.mark.parametrize("what", MODES)
def test_texturing_modes(load, driver, what):
    target, declared, body, refused = MODES[what]
    text = HEAD % target + declared + "\n" + FETCH % body
    if refused is None:
        if driver.on_hardware and declared:  # assembled, but NVIDIA's driver loads no sampler
            with pytest.raises(driver_abi.DriverError) as error:
                load(text)
            assert error.value.code == NOT_FOUND
        else:
            load(text)
        return
    with pytest.raises(driver_abi.DriverError) as error:
        load(text)
    assert error.value.code == driver_abi.INVALID_PTX
    line, said = refused
    if not driver.on_hardware:
        assert f"line {line}:" in error.value.log and said in error.value.log


@pytest.mark.parametrize("body", [SAMPLED, HELD])
def test_fetches_with_samplers_of_their_own_are_refused(load, driver, body):
    """No call of the driver binds one; NVIDIA's assembler takes them."""
    driver.skip_on_hardware("a limit of cupola's own")
    with pytest.raises(driver_abi.DriverError) as error:
        load(HEAD % ", texmode_independent" + ".global .samplerref s;\n" + FETCH % body)
    assert error.value.code == driver_abi.INVALID_PTX
    assert "line 6: separate samplers (texmode_independent) are not supported" in error.value.log


OF_TEXTURE = [f"txq.{q}.b32 %r0, [X];" for q in ("width", "height", "depth", "channel_data_type", "channel_order", "normalized_coords", "array_size", "num_mipmap_levels", "num_samples")]  # fmt: skip
OF_TEXTURE += [f"txq.level.{q}.b32 %r0, [X], %r1;" for q in ("width", "height", "depth")]
OF_TEXTURE += ["tld4.r.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [X, {%f0, %f1}];"]
OF_FILTER = [f"txq.{q}.b32 %r0, [X];" for q in ("filter_mode", "addr_mode_0", "addr_mode_1", "addr_mode_2")]  # fmt: skip
UNNORMALIZED = ["txq.force_unnormalized_coords.b32 %r0, [X];"]
OF_SURFACE = [f"suq.{q}.b32 %r0, [X];" for q in ("width", "height", "depth", "channel_data_type", "channel_order", "array_size")]  # fmt: skip
OF_SURFACE += ["suld.b.1d.b32.trap {%r0}, [X, {%r1}];", "sust.b.1d.b32.trap [X, {%r1}], {%r0};", "sured.b.add.1d.u32.trap [X, {%r1}], %r0;"]  # fmt: skip
OF_MEMORY = ["ld.global.u32 %r0, [X];", "st.global.u32 [X], %r0;"]
STATEMENTS = OF_TEXTURE + OF_FILTER + UNNORMALIZED + OF_SURFACE + OF_MEMORY
TLD4 = {"tld4.r.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [X, {%f0, %f1}];"}  # without a sampler
TAKEN = {  # mode, operand: statements; a register has what an object's number is loaded to
    ("unified", "t"): OF_TEXTURE + OF_FILTER,
    ("unified", "u"): OF_SURFACE,
    ("unified", "%d0"): STATEMENTS,
    ("independent", "t"): set(OF_TEXTURE) - TLD4,
    ("independent", "s"): OF_FILTER + UNNORMALIZED,
    ("independent", "u"): OF_SURFACE,
    ("independent", "%d0"): set(STATEMENTS) - TLD4,
}


def object_text(mode, operand, statements):
    """The first statement stands on line 8, each of the others on one of its own."""
    declared = ".global .surfref u;\n" + (".global .samplerref s;\n" if operand == "s" else "\n")
    body = ".visible .entry k() { .reg .b32 %r<4>; .reg .f32 %f<4>; .reg .b64 %d<2>;\n"
    asked = "\n".join(statements).replace("X", operand)
    return (HEAD % f", texmode_{mode}") + declared + body + asked + "\nret; }"


@pytest.mark.parametrize("mode, operand", TAKEN)
def test_what_is_asked_of_textures_samplers_and_surfaces(load, driver, mode, operand):
    for statement in STATEMENTS:
        text = object_text(mode, operand, [statement])
        taken = statement in TAKEN[mode, operand]
        # No call of the driver binds a sampler: NVIDIA's loads none, cupola's asks none.
        apart = mode == "independent" and statement in OF_FILTER + UNNORMALIZED
        if taken and driver.on_hardware and operand != "s":
            try:
                load(text)
            except (
                driver_abi.DriverError
            ) as error:  # some queries, which NVIDIA's assembler accepts
                assert error.code == NOT_SUPPORTED, text
            continue
        if taken and not driver.on_hardware and not apart:
            load(text)
            continue
        with pytest.raises(driver_abi.DriverError) as error:
            load(text)
        if driver.on_hardware:
            assert error.value.code == (NOT_FOUND if taken else driver_abi.INVALID_PTX), text
            continue
        assert error.value.code == driver_abi.INVALID_PTX
        assert "line 8:" in error.value.log
        assert ("separate samplers" in error.value.log) == (apart and taken)


def test_ptxas_takes_the_same_of_textures_samplers_and_surfaces(tmp_path, ptxas):
    source = tmp_path / "asked.ptx"
    for (mode, operand), taken in TAKEN.items():
        source.write_text(object_text(mode, operand, STATEMENTS))
        command = [ptxas, "-arch=sm_75", "-O0", source, "-o", tmp_path / "asked.cubin"]
        done = subprocess.run(command, capture_output=True, text=True)
        lines = {int(n) for n in re.findall(r"line (\d+); error", done.stderr)}
        refused = {8 + n for n, statement in enumerate(STATEMENTS) if statement not in taken}
        assert lines == refused, (mode, operand)
