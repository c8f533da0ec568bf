"""References for conversions to and from tf32 and numbers of eight bits."""

import math
from bisect import bisect_left, bisect_right
from fractions import Fraction

from .. import floats as fl
from .core import clamp, cut, define, value


@define("ConvertPackMore")
def convert_pack_more(m, t, t2, a, b, c):
    low = cut(t, clamp(t, value("s32", a))) << 8 | cut(t, clamp(t, value("s32", b)))
    return (c << 16 & 0xFFFF0000 | low,)


@define("ConvertPackFew")
def convert_pack_few(m, t, t2, a, b, c):
    kind, bits = m["few_bits"][0], int(m["few_bits"][1])
    low, high = (0, 2**bits - 1) if kind == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    first, second = (max(low, min(high, value("s32", x))) % 2**bits for x in (a, b))
    return (c << 2 * bits & 0xFFFFFFFF | first << bits | second,)


@define("ConvertTensor")
def convert_tensor(m, t, t2, a):
    """tf32 has f32's exponents and f16's precision."""
    sign, v = fl.decode("f32", a)
    finite = m.get("finite") or m.get("finite_always")
    if v is fl.NAN and "rn_rz" in m:
        return (0x7FFFE000,)
    if m.get("relu") and sign and v is not fl.NAN:
        return (0,)
    if v is fl.NAN or (v is fl.INF and finite):
        # An H200 cuts off the bits below the precision, and rounds a value that is too large down.
        made = a & 0x7FFFE000
        return (a & 1 << 31 | made - (0x2000 if finite and made >> 23 == 0xFF else 0),)
    top = Fraction(2) ** 128 - Fraction(2) ** 117
    if v is not fl.INF:
        scale = Fraction(2) ** (max((a >> 23 & 0xFF) - 127, -126) - 10)
        n, away = v / scale, Fraction(1, 2)
        n = {"rn": round, "rz": math.floor, "rna": lambda x: math.floor(x + away)}[
            m.get("rn_rz", "rna")
        ](n)
        v = n * scale
        if v > top:
            v = top if finite else fl.INF
    return (fl.encode("f32", sign, v),)


# Bits of the mantissa, the exponent's bias, the bits of the largest number and of NaN. Numbers
# below 8 bits have no NaN: the largest number replaces it.
SMALL = {
    "e4m3x2": (3, 7, 0x7E, 0x7F),
    "e5m2x2": (2, 15, 0x7B, 0x7F),
    "e2m1x2": (1, 1, 0x7, 0x7),
    "e2m3x2": (3, 1, 0x1F, 0x1F),
    "e3m2x2": (2, 3, 0x1F, 0x1F),
}


def small_values(t):
    """The numbers of a format, by their bits; above the last one there is none."""
    mantissa, bias, last, _ = SMALL[t]
    for bits in range(last + 1):
        e, f = bits >> mantissa, bits & ((1 << mantissa) - 1)
        least = Fraction(2) ** (1 - bias - mantissa)
        yield least * f if e == 0 else least * (f + (1 << mantissa)) * 2 ** (e - 1)


NUMBERS = {t: list(small_values(t)) for t in SMALL}


def top_of(t):
    """The sign's place."""
    return SMALL[t][2].bit_length()


def narrow_small(m, t, t2, bits):
    sign, v = fl.decode(t2, bits)
    if v is fl.NAN:
        return SMALL[t][3]
    if sign and m.get("relu"):
        return 0
    numbers = NUMBERS[t]
    if v is fl.INF or v >= numbers[-1]:
        return sign << top_of(t) | len(numbers) - 1
    # The nearest number; of two equally near numbers, the even one.
    above = bisect_left(numbers, v)
    near = range(max(above - 1, 0), above + 1)
    return sign << top_of(t) | min(near, key=lambda n: (abs(numbers[n] - v), n & 1))


@define("NarrowSmall")
def narrow_small_pair(m, t, t2, a, b=None):
    if b is None:
        a, b = a >> 16, a & 0xFFFF
        t2 = t2[:-2]
    apart = 4 if t == "e2m1x2" else 8
    return (narrow_small(m, t, t2, a) << apart | narrow_small(m, t, t2, b),)


def widen_small(m, t, t2, bits):
    sign, rest = bits >> top_of(t2) & 1, bits & ((1 << top_of(t2)) - 1)
    if rest >= len(NUMBERS[t2]):
        if (t2, rest) != ("e5m2x2", 0x7C):
            return 0x7FFF
        v = fl.INF
    else:
        v = NUMBERS[t2][rest]
    if sign and m.get("relu"):
        return 0
    return fl.encode(t, sign, v) - (v is fl.INF and bool(m.get("finite")))


@define("WidenSmall")
def widen_small_pair(m, t, t2, a):
    apart = 4 if t2 == "e2m1x2" else 8
    parts = (a >> apart & (1 << apart) - 1, a & (1 << apart) - 1)
    high, low = (widen_small(m, t[:-2], t2, part) for part in parts)
    return (high << 16 | low,)


def scaled(m, v, sign, exponent):
    """A number times a power of two, as bf16; the exponent 255 is NaN."""
    if v is fl.NAN or exponent == 255:
        return fl.nan_bits("bf16")
    if sign and m.get("relu"):
        return 0
    made = fl.encode("bf16", 0, v if v is fl.INF else v * fl.power(exponent - 127))
    return sign << 15 | made - (made == 0x7F80 and bool(m.get("finite")))


@define("WidenScaled")
def widen_scaled_pair(m, t, t2, a, exponents):
    apart, top = 4 if t2 == "e2m1x2" else 8, top_of(t2)

    def of(bits, exponent):
        sign, rest = bits >> top & 1, bits & ((1 << top) - 1)
        infinite = (t2, rest) == ("e5m2x2", 0x7C)
        numbers = NUMBERS[t2]
        v = fl.INF if infinite else numbers[rest] if rest < len(numbers) else fl.NAN
        return scaled(m, v, sign, exponent)

    mask = (1 << apart) - 1
    return (of(a >> apart & mask, exponents >> 8) << 16 | of(a & mask, exponents & 255),)


@define("WidenFixed")
def widen_fixed_pair(m, t, t2, a, exponents=0x7F7F):
    """s2f6: an integer of 8 bits, divided by 64."""

    def of(bits, exponent):
        number = bits - 256 if bits & 128 else bits
        return scaled(m, Fraction(abs(number), 64), int(number < 0), exponent)

    return (of(a >> 8, exponents >> 8) << 16 | of(a & 255, exponents & 255),)


@define("NarrowFixed")
def narrow_fixed_pair(m, t, t2, a, b=None, exponents=0x7F7F):
    """The nearest s2f6 of a number divided by its scale factor, at most 127 and at least -128."""
    if t2 == "bf16x2":
        exponents = exponents if b is None else b
        a, b = a >> 16, a & 0xFFFF

    def of(bits, exponent):
        sign, v = fl.decode(t2.removesuffix("x2"), bits)
        if v is fl.NAN or exponent == 255:
            return 127
        if sign and m.get("relu"):
            return 0
        limit = 128 if sign else 127
        number = limit if v is fl.INF else min(round(v * 64 / fl.power(exponent - 127)), limit)
        return (-number if sign else number) & 255

    return (of(a, exponents >> 8) << 8 | of(b, exponents & 255),)


SCALES = [fl.power(n - 127) for n in range(255)]


def narrow_scale(m, t2, bits):
    """The exponent of the power of two at or below a magnitude, or at or above; 255 is NaN."""
    _, v = fl.decode(t2, bits)
    if v is fl.NAN:
        return 255
    last = 254 if m.get("finite") else 255
    if v is fl.INF:
        return last
    if m["rz_rp"] == "rz":
        return max(bisect_right(SCALES, v) - 1, 0)
    return min(bisect_left(SCALES, v), last)


@define("NarrowScale")
def narrow_scale_pair(m, t, t2, a, b=None):
    if b is None:
        a, b = a >> 16, a & 0xFFFF
        t2 = t2[:-2]
    return (narrow_scale(m, t2, a) << 8 | narrow_scale(m, t2, b),)


@define("WidenScale")
def widen_scale_pair(m, t, t2, a):
    high, low = (
        fl.encode("bf16", 0, fl.NAN if n == 255 else fl.power(n - 127)) for n in (a >> 8, a & 255)
    )
    return (high << 16 | low,)


def convert_random(m, t, bits, random):
    """The random bits are a fraction of the distance to the next number away from zero."""
    sign, v = fl.decode("f32", bits)
    dropped = 23 - fl.FORMATS[t][1]
    if v is fl.NAN:
        return fl.nan_bits(t)
    if sign and m.get("relu"):
        return 0
    if v is not fl.INF:
        low = fl.encode(t, 0, v, "rz")
        below, above = fl.decode(t, low)[1], fl.decode(t, low + 1)[1]
        largest = above is fl.INF
        step = below - fl.decode(t, low - 1)[1] if largest else above - below
        part = (v - below) / step
        up = part + Fraction(random % (1 << dropped), 1 << dropped) >= 1
        v = fl.INF if up and largest else above if up else below
    out = fl.encode(t, sign, v)
    return out - (v is fl.INF and bool(m.get("finite")))


@define("ConvertRandom")
def convert_random_pair(m, t, t2, a, b, random):
    high, low = convert_random(m, t[:-2], a, random >> 16), convert_random(m, t[:-2], b, random)
    return (high << 16 | low,)


def narrow_random(m, t, bits, random):
    """16 random bits are a fraction of the distance to the next number away from zero."""
    sign, v = fl.decode("f32", bits)
    if v is fl.NAN:
        return SMALL[t][3]
    if sign and m.get("relu"):
        return 0
    numbers = NUMBERS[t]
    found = len(numbers) - 1
    if v is not fl.INF and v < numbers[-1]:
        found = bisect_right(numbers, v) - 1
        part = (v - numbers[found]) / (numbers[found + 1] - numbers[found])
        found += part + Fraction(random, 1 << 16) >= 1
    return sign << top_of(t) | found


@define("ConvertRandomFour")
def convert_random_four(m, t, t2, a, b, e, f, random):
    """The first number of a pair takes the random bits of the pair in reverse order."""
    made = 0
    for bits, half, turned in ((a, 16, True), (b, 16, False), (e, 0, True), (f, 0, False)):
        own = random >> half & 0xFFFF
        own = int(f"{own:016b}"[::-1], 2) if turned else own
        made = made << 8 | narrow_random(m, t[:-1] + "2", bits, own)
    return (made,)
