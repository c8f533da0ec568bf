"""Fetches of textures as cases: a resource, how it is read, an instruction and many coordinates.

An independent reference (texture_reference.py) computes the results of a case, and
record_texture.py records them from a GPU.
"""

import ctypes
from dataclasses import dataclass, field

import numpy as np
from cpu.texture import (
    BORDER,
    CLAMP,
    CUBEMAP,
    GATHER,
    LAYERED,
    LINEAR,
    MIRROR,
    NORMALIZED,
    POINT,
    READ_AS_INTEGER,
    SEAMLESS,
    SRGB,
    WRAP,
    ResourceDesc,
    TextureDesc,
    Textures,
    format_of,
)

HEAD = ".version 8.6\n.target sm_90\n.address_size 64\n"
GEOMETRIES = {
    "1d": "{%c0}",
    "2d": "{%c0, %c1}",
    "3d": "{%c0, %c1, %c2, %c2}",
    "a1d": "{%c0, %c1}",
    "a2d": "{%c0, %c1, %c2, %c2}",
    "cube": "{%c0, %c1, %c2, %c2}",
    "acube": "{%c0, %c1, %c2, %c3}",
}
AXES = {"1d": 1, "2d": 2, "3d": 3, "a1d": 1, "a2d": 2, "cube": 3, "acube": 3}


@dataclass
class Case:
    name: str
    opcode: str
    words: np.ndarray  # uint32: of each fetch layer, coordinates, level or gradients
    texels: object  # an array, or a list of levels
    kind: str = "array"
    description: dict = field(default_factory=dict)
    array_flags: int = 0
    dims: tuple = None
    offsets: tuple = None

    @property
    def geometry(self):
        return next(p for p in self.opcode.split(".") if p in AXES)

    @property
    def levels(self):
        return self.texels if isinstance(self.texels, list) else [self.texels]

    @property
    def results(self):
        return 2 if ".f16x2." in self.opcode else 4


def kernel(name, opcode, offsets):
    """A fetch a thread: 12 words in, the texel's words out."""
    parts = opcode.split(".")
    geometry = next(p for p in parts if p in AXES)
    axes = AXES[geometry]
    at = axes + geometry.startswith("a")
    operands = f"[%t, {GEOMETRIES[geometry]}]"

    def vector():
        nonlocal at
        names = [f"%c{at + k}" for k in range(axes)]
        at += axes
        return "{" + ", ".join(names + names[-1:] * (axes == 3)) + "}"

    if "level" in parts:
        operands += f", %c{at}"
        at += 1
    if "grad" in parts:
        operands += f", {vector()}, {vector()}"
    if offsets:
        padded = [*offsets, *([0] if len(offsets) == 3 else [])]
        operands += ", {" + ", ".join(map(str, padded)) + "}"
    to = (
        "{%o0, %o1}"
        if ".f16x2." in opcode
        else "{%h0, %h1, %h2, %h3}"
        if ".f16." in opcode
        else "{%o0, %o1, %o2, %o3}"
    )
    after = "".join(f"cvt.u32.u16 %o{k}, %h{k}; " for k in range(4)) if ".f16." in opcode else ""
    loads = "".join(f"ld.global.b32 %c{k}, [%in+{4 * k}]; " for k in range(at))
    return f"""
.visible .entry {name}(.param .u64 pt, .param .u64 pin, .param .u64 pout, .param .u32 pn) {{
.reg .b64 %t, %in, %out, %x; .reg .b32 %c<12>, %o<4>, %r<4>; .reg .b16 %h<4>; .reg .pred %p;
ld.param.u64 %t, [pt]; ld.param.u64 %in, [pin]; ld.param.u64 %out, [pout]; ld.param.u32 %r3, [pn];
mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r0, %r0, %r1, %r2;
setp.ge.u32 %p, %r0, %r3; @%p ret;
mov.u32 %o0, 0; mov.u32 %o1, 0; mov.u32 %o2, 0; mov.u32 %o3, 0;
mul.wide.u32 %x, %r0, 48; add.u64 %in, %in, %x; mul.wide.u32 %x, %r0, 16; add.u64 %out, %out, %x;
{loads}
{opcode} {to}, {operands};
{after}st.global.v4.b32 [%out], {{%o0, %o1, %o2, %o3}}; ret; }}
"""


def module_text(cases):
    """One kernel for each instruction, and their names by opcode and offsets."""
    names = {}
    for case in cases:
        names.setdefault((case.opcode, case.offsets), f"k{len(names)}")
    return HEAD + "".join(kernel(n, *key) for key, n in names.items()), names


def texture(made, case):
    """The case's texture, made with Textures."""
    texels, first = case.texels, case.levels[0]
    form, channels = format_of(first.dtype), first.shape[-1]
    if case.kind == "mipmapped":
        resource = ResourceDesc.mipmapped(made.mipmapped(texels, case.array_flags, case.dims).value)
    elif case.kind == "array":
        resource = ResourceDesc.array(made.array(texels, case.array_flags, case.dims).value)
    elif case.kind == "linear":
        resource = ResourceDesc.linear(made.memory(texels), form, channels, texels.nbytes)
    else:
        height, width = texels.shape[:2]
        rows = np.zeros((height, 512), np.uint8)
        rows[:, : texels[0].nbytes] = (
            np.ascontiguousarray(texels).view(np.uint8).reshape(height, -1)
        )
        resource = ResourceDesc.pitch(made.memory(rows), form, channels, width, height, 512)
    return made.texture(resource, TextureDesc.of(**case.description))


def fetch(driver, module, names, case):
    """The results of a case's fetches: (count, words)."""
    made = Textures(driver)
    try:
        handle = texture(made, case)
        count = len(case.words)
        words = np.zeros((count, 12), np.uint32)
        words[:, : case.words.shape[1]] = case.words
        out = np.zeros((count, 4), np.uint32)
        name = names[case.opcode, case.offsets]
        module.run(name, (count + 127) // 128, 128, [handle, words, out, ctypes.c_uint32(count)])
        return out[:, : case.results]
    finally:
        made.close()


# ---- numbers that are the same everywhere ---------------------------------------------------


def noise(seed, count):
    """64 bits each, by splitmix64."""
    x = (np.arange(1, count + 1, dtype=np.uint64) + np.uint64(seed << 32)) * np.uint64(
        0x9E3779B97F4A7C15
    )
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def uniform(seed, count, low=0.0, high=1.0):
    unit = (noise(seed, count) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return (low + (high - low) * unit).astype(np.float32)


def near(points, ulps=2):
    """Floats and their neighbours."""
    bits = np.asarray(points, np.float32).view(np.int32)
    return np.concatenate(
        [(bits + u).astype(np.int32).view(np.float32) for u in range(-ulps, ulps + 1)]
    )


def words(*columns):
    """Columns of floats or integers as words."""
    columns = np.broadcast_arrays(*columns)
    return np.stack(
        [
            c.astype(np.float32).view(np.uint32)
            if c.dtype.kind == "f"
            else c.astype(np.int64).astype(np.uint32)
            for c in columns
        ],
        -1,
    )


__all__ = [
    "AXES",
    "BORDER",
    "CLAMP",
    "CUBEMAP",
    "GATHER",
    "LAYERED",
    "LINEAR",
    "MIRROR",
    "NORMALIZED",
    "POINT",
    "READ_AS_INTEGER",
    "SEAMLESS",
    "SRGB",
    "WRAP",
    "Case",
    "fetch",
    "module_text",
    "near",
    "noise",
    "uniform",
    "words",
]
