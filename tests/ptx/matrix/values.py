"""Values of fragments: words, fragments and metadata of each type."""

import numpy as np

from .form import BITS, FLOATS


def words(seed, count):
    """The same random words everywhere: splitmix64 of a counter."""
    with np.errstate(over="ignore"):
        z = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z += np.uint64(seed * 0xD1342543DE82EF95 % 2**64)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


# How numbers of a case are distributed.
STYLES = ("near", "spread", "wide", "cancel", "tiny", "special", "sparse", "sum", "huge", "bits")


def _floats(t, style, accumulator, raw):
    """Elements of a float type, as bits, from random words."""
    e, m = FLOATS[t]
    if e < 4:  # few numbers: all of them, and any padding
        return raw
    bias, top = (1 << (e - 1)) - 1, (1 << e) - 1
    sign = raw >> np.uint64(63)
    mantissa = raw & np.uint64((1 << m) - 1)
    pick = raw >> np.uint64(53) & np.uint64(1023)  # independent of sign and mantissa up to 52 bits
    if t == "f64":
        pick = words(int(raw.flat[0] & np.uint64(0xFFFF)), raw.size).reshape(
            raw.shape
        ) >> np.uint64(54)
    limit = {"near": 1, "spread": 4, "wide": 12, "cancel": 3, "sum": 2}.get(style, 2)
    limit = min(limit, bias - 1)
    exponent = pick % np.uint64(2 * limit + 1) + np.uint64(bias - limit)
    if style == "sum" and accumulator:  # C outweighs the products, or is outweighed
        far = np.where(pick & np.uint64(1), 20, 12) * np.where(pick & np.uint64(2), 1, -1)
        exponent = np.clip(bias + far, 1, top - 1).astype(np.uint64)
    if style == "tiny":
        if t in ("tf32", "bf16"):  # products near the least f32
            exponent = pick % np.uint64(24) + np.uint64(52)
        else:
            exponent = pick % np.uint64(4 if not accumulator else 12 if t == "f32" else bias)
            if t == "f64" and not accumulator:
                exponent = pick % np.uint64(40) + np.uint64(bias // 2 - 20)
    if style == "huge":
        exponent = np.uint64(top - 1) - pick % np.uint64(min(e, 4) + 1)
        if t in ("tf32", "bf16", "f64"):
            exponent = pick % np.uint64(6) + np.uint64(bias + bias // 2 - 3)
    if style == "bits":
        exponent = pick & np.uint64(top)
    if style == "special":
        exponent = np.where(pick < (40 if t == "f64" else 8), np.uint64(top), exponent)
        mantissa = np.where(pick < 6, np.uint64(0), mantissa)
        exponent = np.where((pick >= 8) & (pick < 100), np.uint64(0), exponent)
        mantissa = np.where((pick >= 8) & (pick < 60), np.uint64(0), mantissa)
    bits = sign << np.uint64(e + m) | exponent << np.uint64(m) | mantissa
    if style == "sparse":
        # Few elements that are not zero, of far exponents.
        spread = min(10, bias - 1)
        exponent = raw >> np.uint64(40) & np.uint64(1023)
        exponent = exponent % np.uint64(2 * spread + 1) + np.uint64(bias - spread)
        bits = sign << np.uint64(e + m) | exponent << np.uint64(m) | mantissa
        bits = np.where(pick < (700 if accumulator else 640), sign << np.uint64(e + m), bits)
    if t == "tf32":
        bits = bits << np.uint64(13) | raw >> np.uint64(30) & np.uint64(0x1FFF)
    return bits


def packed(t, shape, seed, accumulator=False):
    """Words [case, ..., lane] full of elements of a type, the style by the case's number."""
    width = 8 if t == "f64" else 4
    dtype = np.uint64 if width == 8 else np.uint32
    cases, count = shape[0], int(np.prod(shape))
    which = np.arange(cases).reshape(-1, *[1] * (len(shape) - 1))
    if t not in FLOATS:
        raw = words(seed, count).reshape(shape) >> np.uint64(32)
        if accumulator:
            small = (raw.astype(np.int64) - 2**31) >> 16
            low = small & 1023
            edge = np.where(raw & np.uint64(1), 2**31 - 1 - low, -(2**31) + low)
            raw = np.where(
                which % 3 == 0, small, np.where(which % 3 == 1, edge, raw.astype(np.int64))
            )
            return (raw & 0xFFFFFFFF).astype(np.uint32)
        extreme = {"s8": 0x80808080, "s4": 0x88888888}.get(t, 0xFFFFFFFF)  # the largest products
        return np.where(which % 4 == 3, np.uint64(extreme), raw).astype(np.uint32)
    per = width * 8 // BITS[t]
    raw = words(seed, count * per).reshape(*shape, per)
    out = np.zeros(raw.shape, np.uint64)
    for i in range(cases):
        style = STYLES[i % len(STYLES)]
        out[i] = _floats(t, style, accumulator, raw[i])
        if style == "cancel" and not accumulator and per > 1:
            half = per // 2  # products that are each other's opposite, or nearly
            flip = np.uint64((seed & 1) << (BITS[t] - 1))
            out[i, ..., half:] = out[i, ..., :half] ^ flip
            near = raw[i, ..., half:] >> np.uint64(20) & np.uint64(7)
            out[i, ..., half:] ^= ((near == 0) & np.bool_(seed & 1)).astype(np.uint64)
    together = np.zeros(shape, np.uint64)
    for i in range(per):
        together |= (out[..., i] & np.uint64(2 ** BITS[t] - 1)) << np.uint64(i * BITS[t])
    return together.astype(dtype)


def fragment(form, operand, cases, seed):
    """Words [case, register, lane] of an operand."""
    shape = (cases, form.registers(operand), 32)
    if operand == "e":
        return metadata(form, shape, seed)
    if operand in "st":
        return scale_factors(form, shape, seed * 8 + "st".index(operand))
    salt = {"a": 1, "b": 2, "c": 4}[operand]
    return packed(getattr(form, operand), shape, seed * 8 + salt, operand == "c")


def metadata(form, shape, seed):
    """Words of valid metadata for a sparse A."""
    raw = words(seed * 8 + 6, int(np.prod(shape)) * 8).reshape(*shape, 8)
    valid = [0x4, 0xE] if form.a == "tf32" else [0x4, 0x8, 0x9, 0xC, 0xD, 0xE]
    picked = np.array(valid, np.uint64)[(raw >> np.uint64(20)).astype(np.int64) % len(valid)]
    out = np.zeros(shape, np.uint64)
    for i in range(8):
        out |= picked[..., i] << np.uint64(4 * i)
    return out.astype(np.uint32)


def scale_factors(form, shape, seed):
    """Words of scale factors: near 1, of any size, or NaN in places."""
    raw = words(seed, int(np.prod(shape)) * 4).reshape(*shape, 4)
    style = np.arange(shape[0]).reshape(-1, *[1] * len(shape)) % 3
    near = (raw >> np.uint64(20)) % np.uint64(16)
    near += np.uint64(120 if form.scale == "ue8m0" else 48)
    some = raw >> np.uint64(30) & np.uint64(255)
    nan = np.where(raw >> np.uint64(50) & np.uint64(31) == 0, np.uint64(255), near)
    parts = np.select([style == 0, style == 1], [near, some], nan).astype(np.uint8)
    return parts.view(np.uint32)[..., 0]


def inputs(form, cases, seed):
    """Fragments of every operand read, in the kernel's order."""
    return [fragment(form, o, cases, seed) for o in "abcest" if form.registers(o)]


def output(form, cases):
    dtype = np.uint64 if form.width("d") == 8 else np.uint32
    return np.zeros((cases, form.registers("d"), 32), dtype)
