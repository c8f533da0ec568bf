"""The results of fetches, in NumPy: fixed-point positions, weights of 256ths, sums of cut texels.

The programming guide gives the number of fraction bits of the weights. Their rounding was measured
on an H200. This file implements it independently of the device's own code.
"""

import numpy as np
from cpu.texture import BORDER, CLAMP, LINEAR, MIRROR, NORMALIZED, READ_AS_INTEGER, SRGB, WRAP

from .texture import AXES

TINY = 2.0**-126


def supports(case):
    first = case.levels[0]
    flags = case.description.get("flags", 0)
    return (
        case.opcode.startswith(("tex.1d", "tex.2d", "tex.3d", "tex.level.2d"))
        and case.opcode.endswith("v4.f32.f32")
        and case.offsets is None
        and not flags & (READ_AS_INTEGER | SRGB)
        and first.ndim == AXES[case.geometry] + 1
        and not case.name.startswith(("odd", "gradient", "levels, none"))
    )


def addressed(index, extent, mode):
    """Indices of texels, -1 beyond a border."""
    if mode == WRAP:
        return index % extent
    if mode == MIRROR:
        folded = index % (2 * extent)
        return np.where(folded < extent, folded, 2 * extent - 1 - folded)
    if mode == BORDER:
        return np.where((index >= 0) & (index < extent), index, -1)
    return np.clip(index, 0, extent - 1)


def taps(bits, extent, mode, normalized, linear):
    x = bits.view(np.float32).astype(np.float64)
    # Beyond, normalised coordinates are even numbers: where wrapping and mirroring begin again.
    limit = 2.0**26 if normalized else 2.0**40
    x = np.where(np.isnan(x) | (np.abs(x) < TINY), 0, np.clip(x, -limit, limit))
    if normalized:
        x = np.floor(x * 2.0**21) / 2.0**21 * extent
    if not linear:
        index = addressed(np.floor(x).astype(np.int64), extent, mode)
        return index, index, np.zeros(len(x), np.int64)
    if mode == CLAMP:
        x = np.clip(x, 0.5, extent - 0.5)
    fixed = np.floor(x * 256 - 127.5).astype(np.int64)
    return (
        addressed(fixed >> 8, extent, mode),
        addressed((fixed >> 8) + 1, extent, mode),
        fixed & 255,
    )


def product(a, b):
    return (a * b + 128) // 256


def corners(x, y, share):
    """Weights of the texels (0, 0), (1, 0), (0, 1), (1, 1) of a plane."""
    right = product(x, share)
    left = share - right
    far, near = product(right, y), product(left, 256 - y)
    return near, right - far, left - near, far


def border(case, dtype, channel):
    colour = np.float32(case.description.get("border", (0,) * 4)[channel])
    if dtype.kind == "f":
        if dtype.itemsize == 4:
            return colour
        nearest = np.float16(colour)
        return (
            nearest
            if abs(np.float32(nearest)) <= abs(colour)
            else np.nextafter(nearest, np.float16(0))
        )
    most = np.float32(np.iinfo(dtype).max)
    least = np.float32(0 if dtype.kind == "u" else -1)
    return np.rint(np.clip(colour, least, np.float32(1)) * most).astype(dtype)


def exponents(values, least):
    size = np.abs(values)
    return np.maximum(
        np.where(size == 0, least, np.floor(np.log2(np.where(size == 0, 1, size)))), least
    )


def joined_real(planes, digits, least):
    total, unit = 0, None
    cut = []
    for values, weights in planes:
        values = [np.where(np.abs(v) < TINY, 0, v) for v in values]
        e = np.max(
            [
                np.where(w == 0, least, exponents(v, least))
                for v, w in zip(values, weights, strict=True)
            ],
            0,
        )
        step = 2.0 ** (e - (digits - 1) - 4)
        cut.append(
            (sum(np.trunc(v / step) * w for v, w in zip(values, weights, strict=True)), step)
        )
    unit = np.max([step for _, step in cut], 0) / 256
    # Exact in extended precision: the planes of one fetch are of like size here.
    total = sum(np.longdouble(part) * np.longdouble(step / 256) for part, step in cut)
    e = exponents(np.where(total == 0, unit, np.abs(total)).astype(np.float64), least)
    last = np.longdouble(2.0) ** (e - (digits - 1))
    rounded = np.sign(total) * np.floor(np.abs(total) / last + np.longdouble(0.5)) * last
    return rounded.astype(np.float32)


def joined_whole(planes, dtype):
    if dtype == np.int8:
        total = sum(v.astype(np.int64) * w for part in planes for v, w in zip(*part, strict=True))
        coarse = total // 16  # the sum plus 1/127 of the sum, computed from its upper 12 bits
        total += (coarse + coarse // 256 + 4) // 8
        return np.maximum(total.astype(np.float32) / np.float32(32767), np.float32(-1))
    scale = 257 if dtype == np.uint8 else 1
    least = 0 if dtype.kind == "u" else -32767
    total = sum(
        np.maximum(v.astype(np.int64) * scale, least) * w
        for values, weights in planes
        for v, w in zip(values, weights, strict=True)
    )
    return ((total + 128) >> 8).astype(np.float32) / np.float32(
        32767 if dtype.kind == "i" else 65535
    )


def alone(values):
    dtype = values.dtype
    if dtype.kind == "f":
        return values.astype(np.float32)
    return np.maximum(values.astype(np.float32) / np.float32(np.iinfo(dtype).max), np.float32(-1))


def planes_of(case, texels, channel, share):
    """Of one level: texels and weights, a plane at a time, and where no texel is filtered."""
    axes = AXES[case.geometry]
    modes = case.description.get("address", CLAMP)
    modes = modes if isinstance(modes, tuple) else (modes,) * 3
    linear = case.description.get("filter", 0) == LINEAR
    normalized = case.description.get("flags", 0) & NORMALIZED
    values = texels[..., channel]
    place = [
        taps(
            np.ascontiguousarray(case.words[:, k]),
            values.shape[-1 - k],
            modes[k],
            normalized,
            linear,
        )
        for k in range(axes)
    ]
    nothing = np.zeros(len(case.words), np.int64)
    while len(place) < 3:
        # The row of a line is one of a plane: beyond its edge is the border.
        beyond = len(place) == 1 and linear and modes[1] == BORDER
        place.append((nothing - 1, nothing, nothing + 128) if beyond else (nothing,) * 3)
    solid = values.reshape((1,) * (3 - axes) + values.shape)
    colour = np.asarray(border(case, texels.dtype, channel))
    back = product(place[2][2], share)
    found = []
    for z, part in ((0, share - back), (1, back)):
        weights = corners(place[0][2], place[1][2], part)
        read = []
        for n in range(4):
            i, j, k = place[0][n & 1], place[1][n >> 1], place[2][z]
            inside = (i >= 0) & (j >= 0) & (k >= 0)
            read.append(np.where(inside, solid[k, j, i], colour).astype(texels.dtype))
        found.append((read, weights))
    return found, linear


def level(case):
    """Fixed point of 8 fraction bits: whole levels, and 256ths of the next."""
    d = case.description
    lod = case.words[:, 2].copy().view(np.float32).astype(np.float64)
    lod = np.clip(np.nan_to_num(lod, nan=0, posinf=1e6, neginf=-1e6), -1e6, 1e6)
    fixed = lambda v: np.trunc(np.float64(np.float32(v)) * 256)
    at = np.trunc(lod * 256) + fixed(d.get("level_bias", 0))
    at = np.minimum(np.maximum(at, fixed(d.get("level_least", 0))), fixed(d.get("level_most", 0)))
    at = np.clip(at, 0, 256 * (len(case.levels) - 1)).astype(np.int64)
    if d.get("level_filter", 0) != LINEAR:
        at = (at + 128) // 256 * 256
    return at // 256, at % 256


def fetch(case):
    """Float bits of the existing channels: (count, channels)."""
    count, channels = len(case.words), case.levels[0].shape[-1]
    dtype = case.levels[0].dtype
    whole, part = level(case) if ".level." in case.opcode else (np.zeros(count, int),) * 2
    out = np.zeros((count, channels), np.float32)
    for channel in range(channels):
        for n in range(len(case.levels)):
            at = whole == n
            first, linear = planes_of(case, case.levels[n], channel, 256 - part)
            second = []
            if (at & (part > 0)).any():
                second, _ = planes_of(case, case.levels[n + 1], channel, part)
            if not linear and not second:
                got = alone(first[0][0][0])
            elif dtype.kind == "f":
                both = [([v.astype(np.float64) for v in vs], ws) for vs, ws in first + second]
                got = joined_real(both, *((24, -126) if dtype.itemsize == 4 else (11, -14)))
            else:
                got = joined_whole(first + second, dtype)
            if not linear and second:
                got = np.where(part == 0, alone(first[0][0][0]), got)
            out[at, channel] = got[at]
    return out.view(np.uint32)
