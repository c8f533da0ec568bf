# ruff: noqa: E501 - PTX text and tables of it are wide
"""Instructions on surfaces: loads, stores, formatted stores and reductions, against NumPy."""

import ctypes

import numpy as np
import pytest

from .texture import *
from .texture_kernel import make, one, surface_of

__all__ = ["make"]

COVERED = """
suld.b.1d.b8.trap sust.b.1d.b8.trap sust.p.1d.b32.trap
sured.b.add.1d.u32.trap sured.b.min.1d.u32.trap sured.b.and.1d.b32.trap
sured.p.add.1d.b32.trap sured.p.min.1d.b32.trap sured.p.and.1d.b32.trap
"""


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
    """Coordinates count texels. Integers saturate; halves are rounded towards zero, as on an H200."""
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


def test_accesses_outside_of_a_surface(load, make):
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
    """Each thread's number is combined with one cell, which starts as the first of them."""
    numbers = (noise(3, 32) >> np.uint64(17)).astype(np.uint32)
    texels = np.repeat(numbers[:1], 8)[:, None]
    if form == "p":  # the sign is unknown, whatever the texels are
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
