# ruff: noqa: E501 - tables are wide
"""The fetches that are recorded from a GPU, and held against NumPy where that has a reference."""

import numpy as np

from .texture import (
    BORDER,
    CLAMP,
    CUBEMAP,
    GATHER,
    LAYERED,
    LINEAR,
    MIRROR,
    NORMALIZED,
    READ_AS_INTEGER,
    SRGB,
    WRAP,
    Case,
    near,
    noise,
    uniform,
    words,
)

COUNT = 128
MODES = {"wrap": WRAP, "clamp": CLAMP, "mirror": MIRROR, "border": BORDER}
COLOUR = (9.3, -0.8, 7e3, 0.6)
SPECIAL = [0, -0.0, 1e-40, -1e-40, 1e6, -1e6, 1e20, -1e20, np.inf, -np.inf, np.nan, 0.5, -0.5]


def texels(seed, dtype, *shape, wide=False):
    """Numbers of one type; floats near 1, or of very different size."""
    count = int(np.prod(shape))
    kind = np.dtype(dtype)
    if kind.kind != "f":
        return noise(seed, count).astype(f"u{kind.itemsize}").view(kind).reshape(shape)
    sign = np.where(noise(seed + 1, count) & np.uint64(1), -1.0, 1.0)
    size = uniform(seed, count, 1, 2).astype(np.float64)
    if wide:
        size *= 10.0 ** ((noise(seed + 2, count) % np.uint64(7)).astype(np.float64) - 3) * sign
    return size.astype(kind).reshape(shape)


def places(seed, extent, normalized, axes=1, special=True):
    """Coordinates in and around a texture, among them those at which rounding shows."""
    columns = []
    for axis in range(axes):
        random = uniform(seed + 10 * axis, COUNT, -1.2, 2.2) * np.float32(
            1 if normalized else extent
        )
        edges = near(np.arange(-1, extent + 2) / 2, 1) / np.float32(extent if normalized else 1)
        both = np.concatenate([random, edges, SPECIAL if special else []]).astype(np.float32)
        columns.append(np.roll(both, 17 * axis))
    return columns


def filters():
    """Every mode of addressing, filtered and not, along 1, 2 and 3 axes."""
    shapes = {"1d": (7,), "2d": (5, 7), "3d": (3, 5, 7)}
    seed = 100
    for geometry, shape in shapes.items():
        axes = len(shape)
        for name, mode in MODES.items():
            for linear in (0, LINEAR):
                seed += 7
                address = tuple((mode + k) % 4 for k in range(3)) if axes > 1 else mode
                description = {
                    "address": address,
                    "filter": linear,
                    "flags": NORMALIZED,
                    "border": COLOUR,
                }
                columns = places(seed, 7, True, axes)
                yield Case(f"{geometry} {name} {linear}", f"tex.{geometry}.v4.f32.f32", words(*columns),
                           texels(seed, "f4", *shape, 2, wide=axes < 3), "array", description)  # fmt: skip
        seed += 7
        for linear in (0, LINEAR):
            yield Case(f"{geometry} in texels {linear}", f"tex.{geometry}.v4.f32.f32",
                       words(*places(seed, 7, False, axes)), texels(seed, "f4", *shape, 2, wide=axes < 3),
                       "array", {"filter": linear})  # fmt: skip
    for name, mode in MODES.items():
        description = {"address": mode, "filter": LINEAR, "flags": NORMALIZED, "border": COLOUR}
        yield Case(f"pitch {name}", "tex.2d.v4.f32.f32", words(*places(seed + 3, 7, True, 2)),
                   texels(seed, "f4", 5, 7, 4, wide=True), "pitch", description)  # fmt: skip


def formats():
    """Each format: all of 8 bits, some of the others; filtered; beyond the border."""
    for k, dtype in enumerate(["u1", "i1", "u2", "i2", "f2"]):
        x = (np.arange(256) + 0.5).astype(np.float32)
        step = 1 if dtype[1] == "1" else 251
        every = (np.arange(256, dtype=np.uint32) * step).astype(f"u{dtype[1]}").view(dtype)
        if dtype == "f2":
            every = np.where(np.isfinite(every), every, 1).astype(dtype)
        yield Case(f"{dtype} as it is", "tex.1d.v4.f32.f32", words(x), every[:, None])
        description = {
            "filter": LINEAR,
            "address": BORDER,
            "border": (0.3, -0.7, 1.7, 0.123456),
        }
        yield Case(f"{dtype} filtered", "tex.2d.v4.f32.f32", words(*places(300 + k, 7, False, 2)),
                   texels(310 + k, dtype, 5, 7, 4, wide=True), "array", description)  # fmt: skip
        yield Case(f"{dtype} in a box", "tex.3d.v4.f32.f32", words(*places(320 + k, 7, False, 3)),
                   texels(330 + k, dtype, 3, 5, 7, 2), "array", {"filter": LINEAR})  # fmt: skip
        flags = 0 if dtype == "f2" else READ_AS_INTEGER
        raw = {"flags": flags, "address": BORDER, "border": (0.3, -0.7, 1.7, 3.0)}
        yield Case(f"{dtype} raw", "tex.1d.v4.u32.f32", words(uniform(340 + k, 32, -2, 10)),
                   texels(350 + k, dtype, 8, 4), "array", raw)  # fmt: skip
    srgb = np.stack([np.arange(256)] * 4, -1).astype(np.uint8)
    yield Case(
        "sRGB",
        "tex.1d.v4.f32.f32",
        words((np.arange(256) + 0.5).astype(np.float32)),
        srgb,
        "array",
        {"flags": SRGB},
    )
    for opcode in ("tex.1d.v2.f16x2.f32", "tex.1d.v4.f16.f32"):
        yield Case(
            opcode,
            opcode,
            words(places(360, 8, False)[0]),
            texels(361, "f4", 8, 4, wide=True),
            "array",
            {"filter": LINEAR},
        )
    odd = np.array(
        [
            [np.inf, np.nan, 1e-40, 65519],
            [-np.inf, 1, 2e-38, 65520],
            [1, -1, -1e-38, 1e-8],
            [-1, 1, -0.0, 2.0**-25],
        ],
        np.float32,
    )
    for linear in (0, LINEAR):
        x = (np.arange(0, 16) / 4).astype(np.float32)
        yield Case(
            f"odd numbers {linear}", "tex.1d.v4.f32.f32", words(x), odd, "array", {"filter": linear}
        )
    yield Case(
        "odd halves", "tex.1d.v4.f16.f32", words((np.arange(4) + 0.5).astype(np.float32)), odd
    )


def kinds():
    """Layers, cubes, gathers, offsets, integers, levels, gradients."""
    layer = (noise(400, COUNT) % np.uint64(6)).astype(np.int64) - 2
    x, y = uniform(401, COUNT, -2, 9), uniform(402, COUNT, -2, 7)
    for linear in (0, LINEAR):
        for mode in (CLAMP, BORDER):
            description = {"filter": linear, "address": mode, "border": COLOUR}
            yield Case(
                f"lines {linear} {mode}",
                "tex.a1d.v4.f32.f32",
                words(layer, x),
                texels(405, "f4", 3, 7, 1),
                "array",
                description,
                LAYERED,
                (7, 0, 3),
            )
            yield Case(
                f"planes {linear} {mode}",
                "tex.a2d.v4.f32.f32",
                words(layer, x, y),
                texels(406, "f4", 3, 5, 7, 1),
                "array",
                description,
                LAYERED,
                (7, 5, 3),
            )
    direction = [uniform(410 + k, 2 * COUNT, -1, 1) for k in range(3)]
    for linear in (0, LINEAR):
        for mode in MODES.values():
            description = {"filter": linear, "address": mode, "flags": NORMALIZED, "border": COLOUR}
            yield Case(
                f"cube {linear} {mode}",
                "tex.cube.v4.f32.f32",
                words(*direction),
                texels(414, "f4", 6, 4, 4, 1),
                "array",
                description,
                CUBEMAP,
                (4, 4, 6),
            )
    cubes = (noise(415, 2 * COUNT) % np.uint64(4)).astype(np.int64) - 1
    yield Case(
        "cubes",
        "tex.acube.v4.f32.f32",
        words(cubes, *direction),
        texels(416, "f4", 12, 4, 4, 1),
        "array",
        {"flags": NORMALIZED},
        CUBEMAP | LAYERED,
        (4, 4, 12),
    )
    for component in "rgba":
        yield Case(
            f"gather {component}",
            f"tld4.{component}.2d.v4.f32.f32",
            words(*places(420, 7, False, 2)),
            texels(421, "f4", 5, 7, 4),
            "array",
            {},
            GATHER,
        )
    for name, mode in MODES.items():
        description = {"address": mode, "flags": NORMALIZED, "border": COLOUR}
        yield Case(
            f"gather {name}",
            "tld4.r.2d.v4.f32.f32",
            words(*places(422, 7, True, 2)),
            texels(423, "f4", 5, 7, 1),
            "array",
            description,
            GATHER,
        )
        yield Case(
            f"offset {name}",
            "tex.2d.v4.f32.f32",
            words(*places(424, 7, True, 2)),
            texels(425, "f4", 5, 7, 1),
            "array",
            {**description, "filter": LINEAR},
            0,
            None,
            (3, -7),
        )
        i, j = [(noise(426 + k, COUNT) % np.uint64(14)).astype(np.int64) - 4 for k in range(2)]
        plain = {**description, "flags": NORMALIZED if mode in (WRAP, MIRROR) else 0}
        yield Case(
            f"integers {name}",
            "tex.2d.v4.f32.s32",
            words(i, j),
            texels(428, "f4", 5, 7, 1),
            "array",
            plain,
        )
        yield Case(
            f"integers of a level {name}",
            "tex.level.2d.v4.f32.s32",
            words(i, j, 0 * i),
            texels(429, "f4", 5, 7, 1),
            "array",
            plain,
        )
    yield Case(
        "line in memory",
        "tex.1d.v4.f32.s32",
        words(np.arange(-20, 40)),
        texels(430, "f4", 13, 2),
        "linear",
    )
    levels = [texels(440 + n, "f4", max(16 >> n, 1), max(8 >> n, 1), 2) for n in range(5)]
    lod = np.concatenate(
        [uniform(450, COUNT, -1, 6), near(np.arange(0, 10) / 2, 1), SPECIAL]
    ).astype(np.float32)
    u, v = uniform(451, len(lod), -1, 2), uniform(452, len(lod), -1, 2)
    for between in (0, LINEAR):
        for within in (0, LINEAR):
            for limits in (
                {"level_most": 9},
                {"level_most": 2.6, "level_least": 0.7},
                {"level_most": 9, "level_bias": -0.37},
                {},
            ):
                description = {
                    "flags": NORMALIZED,
                    "filter": within,
                    "level_filter": between,
                    "address": (WRAP, MIRROR, CLAMP),
                    **limits,
                }
                yield Case(
                    f"levels {between} {within} {limits}",
                    "tex.level.2d.v4.f32.f32",
                    words(u, v, lod),
                    levels,
                    "mipmapped",
                    description,
                )
    description = {
        "flags": NORMALIZED,
        "filter": LINEAR,
        "level_filter": LINEAR,
        "level_most": 9,
        "level_bias": 1.5,
    }
    signed = [texels(460 + n, "i1", max(16 >> n, 1), max(8 >> n, 1), 2) for n in range(len(levels))]
    yield Case("levels of signed bytes", "tex.level.2d.v4.f32.f32", words(u, v, lod), signed, "mipmapped",
               {"flags": NORMALIZED, "filter": LINEAR, "level_filter": LINEAR, "level_most": 9})  # fmt: skip
    yield Case(
        "levels, none given", "tex.2d.v4.f32.f32", words(u, v), levels, "mipmapped", description
    )
    yield Case(
        "the base level", "tex.base.2d.v4.f32.f32", words(u, v), levels, "mipmapped", description
    )
    flat = [np.full((max(16 >> n, 1), max(8 >> n, 1), 1), n, np.float32) for n in range(5)]
    edge = (2.0 ** uniform(453, COUNT, -6, 2).astype(np.float64)).astype(np.float32)
    none, here = np.zeros(COUNT, np.float32), np.full(COUNT, 0.4, np.float32)
    description = {"flags": NORMALIZED, "level_filter": LINEAR, "level_most": 9}
    for name, columns in {"x": (edge, none, none, none), "y": (none, none, none, -edge)}.items():
        yield Case(
            f"gradient along {name}",
            "tex.grad.2d.v4.f32.f32",
            words(here, here, *columns),
            flat,
            "mipmapped",
            description,
        )


def cases():
    return [*filters(), *formats(), *kinds()]
