# ruff: noqa: E501 - PTX text and tables of it are wide
"""Instructions on textures, and queries of textures and surfaces: each form, against NumPy."""

import ctypes

import driver_abi
import numpy as np
import pytest
from cpu.texture import ResourceDesc, TextureDesc

from . import driver as ptx
from .texture import *
from .texture_kernel import make, one, surface_of

__all__ = ["make"]

FETCHES = {  # geometry: dims of the array, as CUDA and as NumPy have them, and its flags
    "1d": ((7, 0, 0), (7,), 0),
    "2d": ((7, 5, 0), (5, 7), 0),
    "3d": ((7, 5, 3), (3, 5, 7), 0),
    "a1d": ((7, 0, 3), (3, 7), LAYERED),
    "a2d": ((7, 5, 3), (3, 5, 7), LAYERED),
    "cube": ((4, 4, 6), (6, 4, 4), CUBEMAP),
    "acube": ((4, 4, 12), (12, 4, 4), CUBEMAP | LAYERED),
}
MODES = ["tex", "tex.base", "tex.level", "tex.grad"]
TYPES = ["v4.u32", "v4.s32", "v4.f32", "v4.f16", "v2.f16x2"]
COVERED = (
    " ".join(
        f"{m}.{g}.{t}.{c}" for m in MODES for g in FETCHES for t in TYPES for c in ("f32", "s32")
    )
    + """ tld4.r.2d.v4.u32.f32 txq.width.b32 txq.filter_mode.b32 txq.level.width.b32 istypep.texref
    istypep.samplerref istypep.surfref suq.width.b32"""
)


def run(load, driver, case):
    text, names = module_text([case])
    return fetch(driver, load(text), names, case)


def texels_of(geometry, kind, channels=4):
    _, shape, _ = FETCHES[geometry]
    count = int(np.prod(shape)) * channels
    values = np.arange(1, count + 1).reshape(*shape, channels)
    return values.astype({"u32": "u4", "s32": "i4"}.get(kind, "f4")) - (300 if kind == "s32" else 0)


def every_texel(geometry, real):
    """Coordinates of each texel of an array, and where it is; of cubes, directions."""
    _, shape, flags = FETCHES[geometry]
    index = [a.reshape(-1) for a in np.indices(shape)]
    if "cube" not in geometry:
        layer = index[:1] if flags & LAYERED else []
        rest = index[::-1][: len(index) - len(layer)]
        return [*layer, *[(a + 0.5).astype(np.float32) if real else a for a in rest]], index
    slice_, y, x = index
    s, t = (x + 0.5) / 2 - 1, (y + 0.5) / 2 - 1
    one = np.ones_like(s)
    # The direction of each face's place, by the table of the programming guide.
    directions = [
        (one, -t, -s),
        (-one, -t, s),
        (s, one, t),
        (s, -one, -t),
        (s, -t, one),
        (-s, -t, -one),
    ]
    face = slice_ % 6
    xyz = [np.choose(face, [d[k] for d in directions]).astype(np.float32) for k in range(3)]
    return [*([slice_ // 6] if flags & LAYERED else []), *xyz], index


def converted(texels, kind):
    if kind == "v4.f16":
        return texels.astype(np.float16).view(np.uint16).astype(np.uint32)
    if kind == "v2.f16x2":
        return np.ascontiguousarray(texels.astype(np.float16)).view(np.uint32)
    return texels.view(np.uint32)


def coordinates_of(mode, geometry):
    """Neither gradients nor cubes have integers for coordinates."""
    return ("f32",) if mode == "tex.grad" or "cube" in geometry else ("f32", "s32")


@pytest.mark.parametrize(
    "coordinates, mode, kind, geometry",
    [
        (coordinates, mode, kind, geometry)
        for geometry in FETCHES
        for kind in TYPES
        for mode in MODES
        for coordinates in coordinates_of(mode, geometry)
    ],
)
def test_each_texel(driver, load, geometry, kind, mode, coordinates):
    dims, _, flags = FETCHES[geometry]
    texels = texels_of(geometry, kind[3:])
    columns, index = every_texel(geometry, coordinates == "f32")
    axes = AXES[geometry]
    zero = np.zeros(len(index[0]), np.float32 if coordinates == "f32" else np.int32)
    columns += [zero] * {"tex.level": 1, "tex.grad": 2 * axes}.get(mode, 0)
    description = {"flags": NORMALIZED} if "cube" in geometry else {}
    opcode = f"{mode}.{geometry}.{kind}.{coordinates}"
    # Integers on a line are places in memory; fractions are places in arrays.
    where = "linear" if coordinates == "s32" and geometry == "1d" else "array"
    case = Case("", opcode, words(*columns), texels, where, description, flags, dims)
    assert (run(load, driver, case) == converted(texels[tuple(index)], kind)).all()


@pytest.mark.parametrize(
    "kind, geometry, mode",
    [
        (kind, geometry, mode)
        for mode in MODES
        for geometry in ("1d", "2d", "3d", "a1d", "a2d")
        for kind in (("v4.f32",) if mode in ("tex.base", "tex.grad") else ("v4.f32", "v2.f16x2"))
    ],
)
def test_offsets(driver, load, geometry, mode, kind):
    dims, shape, flags = FETCHES[geometry]
    texels = texels_of(geometry, "f32")
    columns, index = every_texel(geometry, True)
    axes = AXES[geometry]
    columns += [np.zeros(len(index[0]), np.float32)] * {"tex.level": 1, "tex.grad": 2 * axes}.get(
        mode, 0
    )
    offsets = (2, -1, 1)[:axes]
    case = Case(
        "",
        f"{mode}.{geometry}.{kind}.f32",
        words(*columns),
        texels,
        "array",
        {},
        flags,
        dims,
        offsets,
    )
    for k, off in enumerate(offsets):
        index[-1 - k] = np.clip(index[-1 - k] + off, 0, shape[-1 - k] - 1)
    assert (run(load, driver, case) == converted(texels[tuple(index)], kind)).all()


@pytest.mark.parametrize("kind", ["linear", "pitch"])
@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "f2", "f4"])
@pytest.mark.parametrize("channels", [1, 2, 4])
def test_formats_in_memory(driver, load, kind, dtype, channels):
    geometry = "1d" if kind == "linear" else "2d"
    _, shape, _ = FETCHES[geometry]
    bits = noise(1, int(np.prod(shape)) * channels)
    texels = bits.astype(f"u{dtype[1]}").view(dtype).reshape(*shape, channels)
    if dtype[0] == "f":
        texels = np.where(np.isfinite(texels), texels, 0).astype(dtype)
    integer = dtype[0] != "f"
    result = {"u": "u32", "i": "s32", "f": "f32"}[dtype[0]]
    columns, index = every_texel(geometry, False)
    description = {"flags": READ_AS_INTEGER} if integer else {}
    case = Case("", f"tex.{geometry}.v4.{result}.s32", words(*columns), texels, kind, description)
    got = run(load, driver, case)[:, :channels]
    expected = texels[tuple(index)].astype({"u32": "u4", "s32": "i4", "f32": "f4"}[result])
    assert (got == expected.view(np.uint32)).all()


def test_a_texture_of_freed_memory_is_a_fault(driver, load):
    """The launch fails, and the process goes on."""
    driver.skip_on_hardware("it may be there yet")
    text, _ = module_text([Case("", "tex.1d.v4.f32.s32", np.zeros((1, 1)), np.zeros((1, 1)))])
    call = """
import sys; sys.path.insert(0, ".")
from cpu.texture import *
import ctypes
d = module.driver
made = Textures(d)
at = made.memory(np.zeros(1 << 20, np.uint8))
t = made.texture(ResourceDesc.linear(at))
d.cuMemFree_v2(ctypes.c_uint64(at))
module.run("k0", 1, 1, [t, np.zeros(12, np.uint32), np.zeros(4, np.uint32), ctypes.c_uint32(1)])
""".strip().replace("\n", "\n    ")
    done = ptx.in_child(text, call)
    assert f"code {driver_abi.ILLEGAL_ADDRESS}" in done.stdout, done.stderr


def test_queries_of_a_level(load, make):
    texels = np.zeros((3, 5, 7, 4), np.uint8)
    texture = make.texture(ResourceDesc.array(make.array(texels).value), TextureDesc.of())
    body = "".join(
        f"txq.level.{name}.b32 %q{k}, [%s], 0;"
        for k, name in enumerate(["width", "height", "depth"])
    )
    assert one(load, make, texture, body)[0].tolist()[:3] == [7, 5, 3]


def query(load, make, handle, names, opcode):
    body = "".join(f"{opcode}.{n}.b32 %q{k}, [%s];" for k, n in enumerate(names))
    return one(load, make, handle, body)[0, : len(names)].tolist()


def test_queries(load, make):
    texels = np.zeros((3, 5, 7, 4), np.uint8)
    box = make.texture(
        ResourceDesc.array(make.array(texels).value), TextureDesc.of(flags=NORMALIZED)
    )
    assert query(load, make, box, ["width", "height", "depth"], "txq") == [7, 5, 3]
    surface, _ = surface_of(make, texels)
    assert query(load, make, surface, ["width", "height", "depth"], "suq") == [7, 5, 3]


def test_texture_objects_are_no_references(load, make):
    """istypep asks for variables of a module."""
    texels = np.zeros((4, 1), np.float32)
    surface, array = surface_of(make, texels)
    texture = make.texture(ResourceDesc.array(array.value))
    body = (
        "istypep.texref %p0, %s; istypep.surfref %p1, %s; istypep.samplerref %p2, %s;"
        "selp.u32 %q0, 1, 0, %p0; selp.u32 %q1, 1, 0, %p1; selp.u32 %q2, 1, 0, %p2;"
    )
    for handle in (texture, surface):
        assert one(load, make, handle, body)[0, :3].tolist() == [0, 0, 0]


def test_guards_and_divergence(load, make):
    texels = np.arange(1, 33, dtype=np.uint32)[:, None]
    texture = make.texture(ResourceDesc.linear(make.memory(texels), 3, 1, texels.nbytes))
    out = one(load, make, texture,
              "setp.lt.u32 %p0, %r0, 9; mov.u32 %q0, 77; @%p0 tex.1d.v4.u32.s32 {%q0, _, _, _}, [%s, %r0];"
              "tex.1d.v4.u32.s32 {%q1, %r4, %r5, %r6}|%p1, [%s, {%r0}]; selp.u32 %q2, 1, 0, %p1;", 32)  # fmt: skip
    assert (out[:, 0] == np.where(np.arange(32) < 9, np.arange(1, 33), 77)).all()
    assert (out[:, 1] == np.arange(1, 33)).all() and (out[:, 2] == 1).all()


REFUSED = {
    "a vector of 3 coordinates": "tex.3d.v4.f32.f32 {%q0,%q1,%q2,%q3}, [%s, {%r0,%r0,%r0}];",
    "no vector": "tex.1d.f32.f32 %q0, [%s, {%r0}];",
    "no coordinates": "tex.1d.v4.f32.f32 {%q0,%q1,%q2,%q3}, [%s];",
    "no texture": "tex.1d.v4.f32.f32 {%q0,%q1,%q2,%q3}, [%r0, {%r0}];",
    "no clamp mode": "suld.b.1d.b32 %q0, [%s, {%r0}];",
    "offsets of a cube": "tex.cube.v4.f32.f32 {%q0,%q1,%q2,%q3}, [%s, {%r0,%r0,%r0,%r0}], {1,1,1,0};",
    "unformatted loads": "suld.p.1d.v4.b32.trap {%q0,%q1,%q2,%q3}, [%s, {%r0}];",
}


@pytest.mark.parametrize("what", REFUSED)
def test_wrong_forms_are_refused(load, make, what):
    with pytest.raises(driver_abi.DriverError) as refused:
        one(load, make, ctypes.c_uint64(0), REFUSED[what])
    assert refused.value.code in (driver_abi.INVALID_PTX, driver_abi.UNSUPPORTED_PTX_VERSION, 209)
