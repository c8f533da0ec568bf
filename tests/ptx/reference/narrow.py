"""References for conversions to and from tf32 and numbers of eight bits."""

import math
from bisect import bisect_left
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
    if v is fl.NAN and "rn_rz" in m:
        return (0x7FFFE000,)
    if v is fl.NAN or (v is fl.INF and m.get("finite")):
        # An H200 cuts off the bits below the precision, and rounds a value that is too large down.
        made = a & 0x7FFFE000
        return (a & 1 << 31 | made - (0x2000 if m.get("finite") and made >> 23 == 0xFF else 0),)
    if m.get("relu") and sign:
        return (0,)
    top = Fraction(2) ** 128 - Fraction(2) ** 117
    if v is not fl.INF:
        scale = Fraction(2) ** (max((a >> 23 & 0xFF) - 127, -126) - 10)
        n, away = v / scale, Fraction(1, 2)
        n = {"rn": round, "rz": math.floor, "rna": lambda x: math.floor(x + away)}[
            m.get("rn_rz", "rna")
        ](n)
        v = n * scale
        if v > top:
            v = top if m.get("finite") else fl.INF
    return (fl.encode("f32", sign, v),)


def eight_values(t):
    """The numbers of a format of eight bits, by their bits; above the last one there is none."""
    mantissa, bias, last = (3, 7, 0x7E) if t == "e4m3x2" else (2, 15, 0x7B)
    for bits in range(last + 1):
        e, f = bits >> mantissa, bits & ((1 << mantissa) - 1)
        least = Fraction(2) ** (1 - bias - mantissa)
        yield least * f if e == 0 else least * (f + (1 << mantissa)) * 2 ** (e - 1)


EIGHT = {t: list(eight_values(t)) for t in ("e4m3x2", "e5m2x2")}


def narrow_eight(m, t, t2, bits):
    sign, v = fl.decode(t2, bits)
    if v is fl.NAN:
        return 0x7F
    if sign and m.get("relu"):
        return 0
    numbers = EIGHT[t]
    if v is fl.INF or v >= numbers[-1]:
        return sign << 7 | len(numbers) - 1
    # The nearest number; of two equally near numbers, the even one.
    above = bisect_left(numbers, v)
    near = range(max(above - 1, 0), above + 1)
    return sign << 7 | min(near, key=lambda n: (abs(numbers[n] - v), n & 1))


@define("NarrowEight")
def narrow_eight_pair(m, t, t2, a, b=None):
    if b is None:
        a, b = a >> 16, a & 0xFFFF
        t2 = "f16"
    return (narrow_eight(m, t, t2, a) << 8 | narrow_eight(m, t, t2, b),)


def widen_eight(m, t2, bits):
    sign, rest = bits >> 7, bits & 0x7F
    if rest >= len(EIGHT[t2]):
        if (t2, rest) != ("e5m2x2", 0x7C):
            return 0x7FFF
        v = fl.INF
    else:
        v = EIGHT[t2][rest]
    return 0 if sign and m.get("relu") else fl.encode("f16", sign, v)


@define("WidenEight")
def widen_eight_pair(m, t, t2, a):
    return (widen_eight(m, t2, a >> 8) << 16 | widen_eight(m, t2, a & 0xFF),)
