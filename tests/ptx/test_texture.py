# ruff: noqa: E501 - PTX text and tables of it are wide
"""Instructions on textures and surfaces: each form, against NumPy."""

import ctypes

import driver_abi
import numpy as np
import pytest
from cpu.texture import SURFACE, ResourceDesc, TextureDesc, Textures

from . import driver as ptx
from .texture import *

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
    istypep.samplerref istypep.surfref suld.b.1d.b8.trap suq.width.b32 sured.b.add.1d.u32.trap
    sured.b.min.1d.u32.trap sured.b.and.1d.b32.trap sured.p.add.1d.b32.trap sured.p.min.1d.b32.trap
    sured.p.and.1d.b32.trap """
    + " ".join(f"sust.{k}.1d.{t}.trap" for k, t in (("b", "b8"), ("p", "b32")))
)


class Read(Textures):
    """What is read of an array counts as read back."""

    def read(self, *arguments):
        out = super().read(*arguments)
        self.driver.seen.reads(out.tobytes())
        return out


@pytest.fixture
def make(driver):
    made = Read(driver)
    yield made
    made.close()


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


def test_memory_that_is_freed(driver, load):
    """A texture of memory that is no more is a fault."""
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


# ---- one thread, one surface or texture ------------------------------------------------------


def one(load, make, handle, body, count=1, second=None):
    """Runs a body for `count` threads (%r0); what it left in %q0 to %q3."""
    module = load(
        f"""
.visible .entry k(.param .u64 ps, .param .u64 pout, .param .u64 pu) {{
.reg .b64 %s, %u, %out, %x, %d<4>; .reg .b32 %r<16>, %q<4>; .reg .b16 %h<4>; .reg .pred %p<4>;
ld.param.u64 %s, [ps]; ld.param.u64 %out, [pout]; ld.param.u64 %u, [pu]; mov.u32 %r0, %tid.x;
mov.u32 %q0, 0; mov.u32 %q1, 0; mov.u32 %q2, 0; mov.u32 %q3, 0;
mul.wide.u32 %x, %r0, 16; add.u64 %out, %out, %x;
{body}
st.global.v4.b32 [%out], {{%q0, %q1, %q2, %q3}}; ret; }}
"""
    )
    out = np.zeros((count, 4), np.uint32)
    module.run("k", 1, count, [handle, out, second or ctypes.c_uint64(0)])
    return out


def surface_of(make, texels, dims=None, flags=0):
    array = make.array(texels, SURFACE | flags, dims)
    return make.surface(array), array


BYTES = {"b8": ("%h0", 1), "b16": ("%h0", 2), "b32": ("%q0", 4), "b64": ("%d0", 8)}


@pytest.mark.parametrize(
    "mode, width, vector",
    [
        (mode, width, vector)
        for vector in (1, 2, 4)
        for width, (_, each) in BYTES.items()
        if vector * each <= 16
        for mode in ("trap", "clamp", "zero")
    ],
)
def test_surface_load_and_store(driver, load, make, vector, width, mode):
    each = BYTES[width][1]
    data = noise(2, 64).view(np.uint8).reshape(4, 128)
    size = each * vector
    # Texels as large as the access.
    dtype = {1: "u1", 2: "u2", 4: "u4", 8: "u4", 16: "u4"}[size]
    channels = {8: 2, 16: 4}.get(size, 1)
    texels = np.ascontiguousarray(data[:, : 4 * size]).view(dtype).reshape(4, 4, channels)
    surface, array = surface_of(make, texels)
    regs = {"b8": "%h", "b16": "%h", "b32": "%q", "b64": "%d"}[width]
    names = "{" + ", ".join(f"{regs}{k}" for k in range(vector)) + "}"
    v = f".v{vector}" if vector > 1 else ""
    one(load, make, surface,
        f"and.b32 %r1, %r0, 3; shr.u32 %r2, %r0, 2; sub.u32 %r3, 3, %r2; mul.lo.u32 %r1, %r1, {size};"
        f"suld.b.2d{v}.{width}.{mode} {names}, [%s, {{%r1, %r2}}]; bar.sync 0;"
        f"sust.b.2d{v}.{width}.{mode} [%s, {{%r1, %r3}}], {names};", 16)  # fmt: skip
    assert (make.read(array, texels) == texels[::-1]).all()


GEOMETRY_OF_SURFACES = {
    "1d": ("{%r1}", (8, 0, 0), 0),
    "2d": ("{%r1, %r2}", (8, 4, 0), 0),
    "3d": ("{%r1, %r2, %r3, %r3}", (8, 4, 3), 0),
    "a1d": ("{%r3, %r1}", (8, 0, 3), LAYERED),
    "a2d": ("{%r3, %r1, %r2, %r2}", (8, 4, 3), LAYERED),
}


@pytest.mark.parametrize("geometry", GEOMETRY_OF_SURFACES)
def test_surface_geometries(load, make, geometry):
    at, dims, flags = GEOMETRY_OF_SURFACES[geometry]
    shape = (dims[2] or 1, dims[1] or 1, dims[0], 1)
    texels = np.arange(1, 1 + int(np.prod(shape)), dtype=np.uint32).reshape(shape)
    surface, array = surface_of(make, texels, dims, flags)
    n = texels.size
    out = one(load, make, surface,
              f"rem.u32 %r1, %r0, 8; div.u32 %r2, %r0, 8; div.u32 %r3, %r2, {shape[1]}; rem.u32 %r2, %r2, {shape[1]};"
              f"shl.b32 %r1, %r1, 2; suld.b.{geometry}.b32.trap %q0, [%s, {at}]; add.u32 %r4, %q0, 1000;"
              f"sust.b.{geometry}.b32.trap [%s, {at}], %r4;", n)  # fmt: skip
    assert (out[:, 0] == texels.reshape(-1)).all()
    assert (make.read(array, texels, dims) == texels + 1000).all()


def within(numbers, kind):
    """32 bits as what a channel of the kind holds of them."""
    if kind[1] == "4":
        return numbers.view(kind)
    if kind != "f2":
        limit = np.iinfo(kind)
        return np.clip(numbers.view(kind[0] + "4"), limit.min, limit.max).astype(kind)
    values = numbers.view("f4")
    with np.errstate(over="ignore", invalid="ignore"):
        nearest = values.astype("f2")
        return (nearest.view("u2") - (np.abs(nearest) > np.abs(values))).astype("u2").view("f2")


@pytest.mark.parametrize("kind", ["u1", "i1", "u2", "i2", "u4", "i4", "f2", "f4"])
@pytest.mark.parametrize("channels", [1, 2, 4])
def test_formatted_stores(load, make, kind, channels):
    """By texels, not bytes. What is too large for its channel becomes the largest; halves are
    rounded towards zero, which the bits of an H200 say.
    """
    given = (noise(5, 64) >> np.uint64(11)).astype(np.uint32).reshape(4, 4, 4)
    if kind[0] == "f":
        given = np.linspace(-300, 900, 64, dtype=np.float32).view(np.uint32).reshape(4, 4, 4)
        given[0, :, 0] = 0x7F800000, 0x7FC00000, 0xFFC00001, 0xFF800000
        given[1, :, 0] = np.float32([65519, 65520, -1e9, -3e-8]).view(np.uint32)
    texels = np.zeros((4, 4, channels), kind)
    surface, array = surface_of(make, texels)
    names = "{" + ", ".join(f"%r{4 + k}" for k in range(channels)) + "}"
    v = f".v{channels}" if channels > 1 else ""
    one(load, make, surface,
        "mul.wide.u32 %d0, %r0, 16; add.u64 %d0, %u, %d0; ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%d0];"
        f"and.b32 %r1, %r0, 3; shr.u32 %r2, %r0, 2; sust.p.2d{v}.b32.trap [%s, {{%r1, %r2}}], {names};",
        16, ctypes.c_uint64(make.memory(given)))  # fmt: skip
    bits = f"u{texels.itemsize}"
    expected = within(np.ascontiguousarray(given[:, :, :channels]), kind)
    np.testing.assert_array_equal(make.read(array, texels).view(bits), expected.view(bits))


def test_outside_of_a_surface(load, make):
    texels = np.arange(1, 9, dtype=np.uint32).reshape(2, 4, 1)
    surface, array = surface_of(make, texels)
    out = one(load, make, surface,
              "and.b32 %r1, %r0, 7; shr.u32 %r2, %r0, 3; sub.u32 %r1, %r1, 2; sub.u32 %r2, %r2, 1; shl.b32 %r1, %r1, 2;"
              "suld.b.2d.b32.zero %q0, [%s, {%r1, %r2}]; suld.b.2d.b32.clamp %q1, [%s, {%r1, %r2}];", 32)  # fmt: skip
    x, y = np.arange(32) % 8 - 2, np.arange(32) // 8 - 1
    clamped = texels[np.clip(y, 0, 1), np.clip(x, 0, 3), 0]
    inside = (x >= 0) & (x < 4) & (y >= 0) & (y < 2)
    assert (out[:, 0] == np.where(inside, clamped, 0)).all()
    assert (out[:, 1] == clamped).all()
    one(load, make, surface, "mov.u32 %r1, 64; sust.b.2d.b32.zero [%s, {%r1, %r1}], %r1;")
    assert (make.read(array, texels) == texels).all()


@pytest.mark.parametrize(
    "opcode, values, expected",
    [
        ("add.1d.u32", "u4", lambda a: a[0] + a.sum()),
        ("min.1d.u32", "u4", np.min),
        ("max.1d.u32", "u4", np.max),
        ("min.1d.s32", "i4", np.min),
        ("max.1d.s32", "i4", np.max),
        ("and.1d.b32", "u4", np.bitwise_and.reduce),
        ("or.1d.b32", "u4", np.bitwise_or.reduce),
    ],
)
@pytest.mark.parametrize("form", "bp")
def test_surface_reductions(load, make, opcode, values, expected, form):
    """Each thread's number joins the one cell, which begins as the first of them."""
    numbers = (noise(3, 32) >> np.uint64(17)).astype(np.uint32)
    texels = np.repeat(numbers[:1], 8)[:, None]
    if form == "p":  # no sign is known of, whatever the texels are
        values = "u4"
    kind = values if opcode[:3] in ("min", "max") else "u4"
    surface, array = surface_of(make, texels.view(kind))
    name = opcode if form == "b" else opcode[:-3] + "b32"
    at = 12 if form == "b" else 3
    memory = ctypes.c_uint64(make.memory(numbers))
    one(load, make, surface,
        f"mul.wide.u32 %d0, %r0, 4; add.u64 %d0, %u, %d0; ld.global.u32 %r2, [%d0]; mov.u32 %r1, {at};"
        f"sured.{form}.{name}.trap [%s, {{%r1}}], %r2;", 32, memory)  # fmt: skip
    got = make.read(array, texels.view(kind)).reshape(-1)
    with np.errstate(over="ignore"):
        assert got[3] == expected(numbers.view(kind)).astype(kind)
    assert (np.delete(got, 3) == texels.view(kind)[0]).all()


def test_wide_surface_reductions(load, make):
    texels = np.zeros((4, 2), np.uint32)
    surface, array = surface_of(make, texels)
    one(load, make, surface,
        "cvt.u64.u32 %d0, %r0; shl.b64 %d0, %d0, 30; mov.u32 %r1, 8; sured.b.add.1d.u64.trap [%s, {%r1}], %d0;"
        "neg.s64 %d1, %d0; mov.u32 %r1, 16; sured.b.min.1d.s64.trap [%s, {%r1}], %d1;"
        "mov.u32 %r1, 24; sured.b.max.1d.u64.zero [%s, {%r1}], %d1;", 32)  # fmt: skip
    got = make.read(array, texels).view(np.uint64)[:, 0]
    assert [int(x) for x in got] == [
        0,
        sum(range(32)) << 30,
        (-31 << 30) % 2**64,
        (-1 << 30) % 2**64,
    ]


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


def test_what_a_number_stands_for(load, make):
    """Objects are no variables of a module, which is what is asked for."""
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
def test_refused(load, make, what):
    with pytest.raises(driver_abi.DriverError) as refused:
        one(load, make, ctypes.c_uint64(0), REFUSED[what])
    assert refused.value.code in (driver_abi.INVALID_PTX, driver_abi.UNSUPPORTED_PTX_VERSION, 209)
