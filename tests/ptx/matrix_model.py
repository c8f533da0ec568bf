"""A model of the matrix instructions: fragments by the PTX manual, and the arithmetic.

Integers and f64 are exact by the manual. Of the other floats it leaves the order of additions and
the rounding open; what stands here agrees with every bit recorded on an H200.
"""

from dataclasses import replace

import numpy as np

from .matrix import BITS, FLOATS


def place(form, operand):
    """Row and column of each element that a lane holds: two arrays [element, lane]."""
    t = getattr(form, operand)
    per = max(32 // BITS[t], 1) if BITS[t] < 64 else 1
    count = form.registers(operand) * per
    i, lane = np.arange(count)[:, None], np.arange(32)[None, :]
    if form.quads:
        upper = lane >= 16
        own = lane % 4 + 4 * upper
        if operand == "a":
            flat = (own + 0 * i, i + 0 * lane), (i + 4 * upper, lane % 4 + 0 * i)
            return flat[form.layouts[0] == "col"]
        if operand == "b":
            flat = (lane % 4 + 0 * i, i + 4 * upper), (i + 0 * lane, own + 0 * i)
            return flat[form.layouts[1] == "col"]
        if t == "f16":
            return own + 0 * i, i + 0 * lane
        return (lane & 1) + (i & 2) + 4 * upper, (i & 4) + (lane & 2) + (i & 1)
    group, thread = lane >> 2, lane % 4
    register, within = i // per, i % per
    if operand in "cd":
        return group + 8 * (i // 2), thread * 2 + i % 2
    if operand == "b":
        return register * 4 * per + thread * per + within, group + 0 * i
    low = register % 2 if form.m == 16 else 0 * register
    high = register // 2 if form.m == 16 else register
    return group + 8 * low + 0 * thread, high * 4 * per + thread * per + within


def split(t, words):
    """Elements [case, element, lane] of registers [case, register, lane]."""
    if BITS[t] == 64:
        return words
    per = 32 // BITS[t]
    shifts = np.arange(per, dtype=np.uint32) * np.uint32(BITS[t])
    mask = np.uint32(0xFFFFFFFF >> (32 - BITS[t]))
    out = words[:, :, None, :] >> shifts[None, None, :, None] & mask
    return out.reshape(words.shape[0], -1, 32)


def join(t, elements):
    if BITS[t] == 64:
        return elements.astype(np.uint64)
    per = 32 // BITS[t]
    parts = elements.astype(np.uint32).reshape(elements.shape[0], -1, per, 32)
    out = np.zeros(parts[:, :, 0].shape, np.uint32)
    for n in range(per):
        out |= parts[:, :, n] << np.uint32(n * BITS[t])
    return out


def gather(form, operand, words):
    """The matrices in the fragments, as bit patterns.

    The axes are case, product (4 if form.quads, else 1), row, column.
    """
    t = getattr(form, operand)
    rows, columns = {"a": (form.m, form.k_stored), "b": (form.k, form.n)}.get(
        operand, (form.m, form.n)
    )
    elements = split(t, words)
    row, column = place(form, operand)
    quad = np.arange(32) // 4 % 4 if form.quads else np.zeros(32, int)
    quad = np.broadcast_to(quad, row.shape)
    out = np.zeros((len(words), 4 if form.quads else 1, rows, columns), elements.dtype)
    out[:, quad, row, column] = elements
    return out


def scatter(form, matrices):
    row, column = place(form, "d")
    quad = np.arange(32) // 4 % 4 if form.quads else np.zeros(32, int)
    return join(form.d, matrices[:, np.broadcast_to(quad, row.shape), row, column])


def chosen(form, words):
    """Rows of B that the elements of a sparse A go with: [case, row, element]."""
    chunk = {32: 2, 4: 8}.get(BITS[form.a], 4)
    chunks = form.k // chunk
    row, n = np.arange(16)[:, None], np.arange(chunks)[None, :]
    lane, bit = metadata_place(form, row, n)
    nibble = (words[:, 0, :][:, lane] >> bit.astype(np.uint32) & np.uint32(15)).astype(int)
    first, second = nibble % 4, nibble // 4
    if chunk == 2:
        parts = [first // 2]
    elif chunk == 4:
        parts = [first, second]
    else:
        parts = [2 * first, 2 * first + 1, 2 * second, 2 * second + 1]
    out = np.stack(parts, -1) + chunk * n[None, :, :, None]
    return out.reshape(len(words), 16, -1)


def metadata_place(form, row, n):
    """Lane and lowest bit of a chunk's four bits."""
    chunks = form.k // {32: 2, 4: 8}.get(BITS[form.a], 4)
    lane, upper = row % 8 * 4, row // 8
    if chunks == 4:
        return lane + form.selector + 0 * n, 16 * upper + 4 * n
    if chunks == 8 and BITS[form.a] >= 16:
        return lane + 2 * form.selector + n // 4, 16 * upper + 4 * (n % 4)
    if chunks == 8:
        return lane + 2 * form.selector + upper, 4 * n + 0 * row
    return lane + upper + 2 * (n // 8), 4 * (n % 8) + 0 * row


# -- arithmetic --------------------------------------------------------------------------------


def unpack(t, bits):
    """Signed mantissa, exponent (of the mantissa's unit bit), and 1 for infinity, 2 for NaN."""
    e, m = FLOATS[t]
    bits = bits.astype(np.int64)
    bits >>= {"tf32": 13, "e2m1": 2}.get(t, 0)
    fraction, field = bits & ((1 << m) - 1), bits >> m & ((1 << e) - 1)
    top, bias = (1 << e) - 1, (1 << (e - 1)) - 1
    mantissa = np.where(field == 0, fraction, fraction | 1 << m)
    kind = np.where(field == top, np.where(fraction == 0, 1, 2), 0)
    if e < 4:
        kind = np.zeros_like(kind)
    if t == "e4m3":
        kind = np.where((field == top) & (fraction == 7), 2, 0)
    sign = 1 - 2 * (bits >> (e + m) & 1)
    return sign * mantissa, np.maximum(field, 1) - bias, kind


def shift(value, by):
    """value * 2^by, cut off toward zero."""
    left = np.clip(by, 0, 62)
    right = np.clip(-by, 0, 62)
    return np.sign(value) * ((np.abs(value) << left) >> right)


def pack(t, total, exponent):
    """Bits of total * 2^exponent: cut off to f32, to nearest even to f16; overflow is infinite."""
    e, m = FLOATS[t]
    top, bias = (1 << e) - 1, (1 << (e - 1)) - 1
    magnitude = np.abs(total)
    length = np.zeros(magnitude.shape, np.int64)
    for n in range(62):
        length += magnitude >> n > 0
    high = length - 1 + exponent
    field = np.where(high < 1 - bias, 0, high + bias)
    drop = np.maximum(high, 1 - bias) - m - exponent
    down = np.clip(drop, 0, 62)
    kept = np.where(drop > 0, magnitude >> down, magnitude << np.clip(-drop, 0, 62))
    kept = np.where(drop > 62, 0, kept)
    if t == "f16":
        rest = magnitude - (magnitude >> down << down)
        twice = 2 * rest - (1 << down)
        up = (drop > 0) & (drop <= 62) & ((twice > 0) | ((twice == 0) & (kept & 1 == 1)))
        kept = kept + up
    bits = kept + (np.maximum(field - 1, 0) << m)
    bits = np.where(bits >> m >= top, top << m, bits)
    return np.where(kept == 0, 0, bits | (total < 0).astype(np.int64) << (e + m))


def rounding(form):
    """How many terms are added at a time, and bits kept below the largest exponent."""
    if "wgmma" in form.opcode and BITS[form.a] == 8:
        return 32, 13
    if "wmma" in form.opcode and form.a == "tf32":
        return 4, 25
    return 256 // BITS[form.a], 25


def scale_place(form, operand):
    """Lanes and first byte of the scale factors of the rows of A, or of the columns of B."""
    byte_a, lanes_a, byte_b, lanes_b = form.select
    line = np.arange(form.m if operand == "s" else form.n)
    if operand == "s":
        return line % 8 * 4 + 2 * lanes_a + line // 8, byte_a
    return line * 4 + lanes_b, byte_b


def scales_of(form, operand, words):
    """Bits of scale factors [case, row of A or column of B, chunk]."""
    lanes, byte = scale_place(form, operand)
    parts = words[:, 0, lanes].astype("<u4")[..., None].view(np.uint8)
    return parts[..., byte : byte + form.scales]


def scaled(form, parts, scales):
    """Numbers, as unpack() gives them, times scale factors of the same shape."""
    mantissa, exponent, kind = parts
    if form.scale == "ue4m3":
        m, e, k = unpack("e4m3", scales & 127)
    else:
        m, e, k = 1, scales.astype(np.int64) - 127, 2 * (scales == 255)
    return mantissa * m, exponent + e, np.maximum(kind, k)


def float_product(form, a, b, c, scales=None):
    """D of products of a [..., i, s] and b [..., i, s, j], added to c [..., i, j].

    Scale factors: those of A [case, i, chunk], and of B [case, j, chunk].
    """
    group, kept = rounding(form)
    left, right = unpack(form.a, a), unpack(form.b, b)
    fraction = FLOATS[form.a][1] + FLOATS[form.b][1]
    if scales:
        each = a.shape[-1] // form.scales
        left = scaled(form, left, scales[0].repeat(each, -1)[:, None])
        right = scaled(form, right, scales[1].repeat(each, -1).swapaxes(1, 2)[:, None, None])
        fraction += 6 if form.scale == "ue4m3" else 0
    (am, ae, ak), (bm, be, bk) = left, right
    sum_type, total = getattr(form, "c", form.d), c.astype(np.int64)
    for s in range(0, a.shape[-1], group):
        x = slice(s, s + group)
        mantissa = am[..., x, None] * bm[..., x, :]
        exponent = ae[..., x, None] + be[..., x, :]
        kinds = ak[..., x, None], bk[..., x, :]
        special = np.maximum(*kinds)
        zero_times = (special == 1) & ((am[..., x, None] == 0) | (bm[..., x, :] == 0))
        nan = ((special == 2) | zero_times).any(-2)
        plus = ((special == 1) & (mantissa > 0)).any(-2)
        minus = ((special == 1) & (mantissa < 0)).any(-2)
        mantissa = np.where(special > 0, 0, mantissa)
        if (sum_type, form.d) == ("f16", "f32"):  # the sum is converted to f32 first
            sum_type, total = "f32", bits_of(value_of("f16", total), "f32").astype(np.int64)
        cm, ce, ck = unpack(sum_type, total)
        nan |= ck == 2
        plus |= (ck == 1) & (cm > 0)
        minus |= (ck == 1) & (cm < 0)
        cm = np.where(ck > 0, 0, cm)
        least = -126
        top = np.where(mantissa != 0, exponent, least).max(-2)
        top = np.maximum(np.maximum(top, np.where(cm != 0, ce, least)), least)
        summed = shift(mantissa, kept - fraction - (top[..., None, :] - exponent)).sum(-2)
        summed = summed + shift(cm, kept - FLOATS[sum_type][1] - (top - ce))
        e, m = FLOATS[form.d]
        bits = pack(form.d, summed, top - kept)
        if kept < 23 and form.d == "f32":  # drops bits that were not kept
            bits = bits >> (23 - kept) << (23 - kept)
        infinity = ((1 << e) - 1) << m
        bits = np.where(plus, infinity, bits)
        bits = np.where(minus, infinity | 1 << (e + m), bits)
        total = np.where(nan | (plus & minus), (1 << (e + m)) - 1, bits)
        sum_type = form.d
    return total


def value_of(t, bits):
    """f32 values of f16 or f32 bits."""
    kind = {"f16": (np.uint16, np.float16), "f32": (np.uint32, np.float32)}[t]
    return bits.astype(kind[0]).view(kind[1]).astype(np.float32)


def bits_of(values, t):
    """Bits of f32 values, rounded to nearest; there is one NaN."""
    kind = {"f16": (np.uint16, np.float16, 0x7FFF), "f32": (np.uint32, np.float32, 0x7FFFFFFF)}[t]
    with np.errstate(over="ignore"):
        bits = values.astype(kind[1]).view(kind[0]).astype(np.uint32)
    return np.where(np.isnan(values), np.uint32(kind[2]), bits)


def fused(a, b, c):
    """Of f32 with factors of at most 11 bits: 53 bits are enough for one rounding."""
    return (a.astype(np.float64) * b + c).astype(np.float32)


@np.errstate(invalid="ignore", over="ignore")
def quad_product(form, a, b, c):
    """m8n8k4 of f16, which sm_90 makes of multiply-adds of f32."""
    x = [value_of("f16", a)[..., s, None] for s in range(4)]
    y = [value_of("f16", b)[..., s, :] for s in range(4)]
    if form.d == "f32":
        total = np.float32(0)
        for s in range(4):
            total = fused(x[s], y[s], total)
    else:
        first, second = fused(x[1], y[1], x[0] * y[0]), fused(x[3], y[3], x[2] * y[2])
        return bits_of(value_of(form.c, c) + first + second, form.d)
    return bits_of(total + value_of(form.c, c), form.d)


def as_f16(t, bits):
    """8-bit floats as f16, exactly."""
    if t == "e5m2":
        return bits.astype(np.uint32) << 8
    mantissa, exponent, kind = unpack("e4m3", bits)
    values = np.ldexp(mantissa.astype(np.float64), exponent - 3)
    return bits_of(np.where(kind == 2, np.nan, values), "f16")


@np.errstate(invalid="ignore", over="ignore")
def eighth_product(form, a, b, c):
    """8-bit floats, which sm_90 makes f16 of: first and second pairs of each four apart, then C."""
    halves = replace(form, a="f16", b="f16", c=form.d)
    x, y = as_f16(form.a, a), as_f16(form.b, b)
    total = np.zeros(c.shape, np.uint32)
    s = np.arange(a.shape[-1])
    for pick in (s % 4 < 2, s % 4 >= 2):
        total = float_product(halves, x[..., pick], y[..., pick, :], total)
    return bits_of(value_of(form.d, total) + value_of(form.c, c), form.d)


def integers(t, bits):
    value = bits.astype(np.int64)
    return value - ((value >> (BITS[t] - 1)) << BITS[t]) if t[0] == "s" else value


def integer_product(form, a, b, c):
    if form.a == "b1":
        x, y = a[..., :, None].astype(bool), b.astype(bool)
        terms = (x & y if "and.popc" in form.opcode else x ^ y).sum(-2)
    else:
        terms = (integers(form.a, a)[..., :, None] * integers(form.b, b)).sum(-2)
    total = terms + c.astype(np.uint32).view(np.int32)
    if "satfinite" in form.opcode:
        total = np.clip(total, -(2**31), 2**31 - 1)
    return total & 0xFFFFFFFF


def product(form, a, b, c, scales=None):
    """D = a * b + c as bits: a [..., i, s], b [..., i, s, j], c [..., i, j]."""
    if form.d == "s32":
        return integer_product(form, a, b, c)
    if getattr(form, "quads", False):
        return quad_product(form, a, b, c)
    if "kind::" in form.opcode:
        return float_product(form, a, b, c, scales)
    if BITS[form.a] == 8 and "wgmma" not in form.opcode:
        return eighth_product(form, a, b, c)
    if (form.d, getattr(form, "c", None)) == ("f16", "f32"):  # is made as f32, and rounded again
        return bits_of(value_of("f32", float_product(replace(form, d="f32"), a, b, c)), "f16")
    return float_product(form, a, b, c)


# -- a warpgroup -------------------------------------------------------------------------------


def swizzled(address, width, base):
    """Chunks of 16 bytes exchanged among rows of 128 bytes, counted from a base; width in bytes,
    16 for none.
    """
    return address ^ (((address >> 7) - base & (width // 16 - 1)) << 4)


def shared_place(descriptor, lines, k, size, transposed=False):
    """Byte addresses [line, k] of a matrix that a descriptor (with address) tells of.

    Lines are rows of A or columns of B. The manual's canonical layouts: along k in core matrices
    of 8 lines by 16 bytes; transposed ones of 8 k by 16 bytes of lines.
    """
    start, leading, stride = ((descriptor >> s & 0x3FFF) << 4 for s in (0, 16, 32))
    mode, base = descriptor >> 62, descriptor >> 49 & 7
    width = {0: 16, 1: 128, 2: 64, 3: 32}[mode]
    line, n = np.arange(lines)[:, None], np.arange(k)[None, :]
    if transposed:
        chunk, within, per = line * size // 16, line * size % 16, width // 16
        if mode == 0:
            at = chunk * stride + n // 8 * leading + n % 8 * 16
        else:
            at = chunk % per * 16 + chunk // per * leading + n % 8 * width + n // 8 * stride
    else:
        chunk, within = n * size // 16, n * size % 16
        step = leading if mode == 0 else 16
        at = line % 8 * width + line // 8 * stride + chunk * step
    return swizzled(start + at + within, width, base)
