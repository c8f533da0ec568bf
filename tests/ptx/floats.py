"""Floating point from its definition: bits to exact fractions, and fractions to bits, rounded."""

import functools
from fractions import Fraction
from math import isqrt

# exponent bits, mantissa bits
FORMATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}
# Formats of the same precision, with exponents so wide that no result is subnormal.
FORMATS |= {"f16+": (9, 10), "f32+": (12, 23)}
NAN, INF = "nan", "inf"  # compared by `is`: == of a Fraction takes long for them


def width(fmt):
    return 1 + sum(FORMATS[fmt])


def nan_bits(fmt):
    return (1 << (width(fmt) - 1)) - 1  # the canonical NaN, in formats that have a NaN


@functools.cache
def power(exponent):
    return Fraction(2) ** exponent


@functools.lru_cache(1 << 16, typed=True)
def decode(fmt, bits):
    """(sign, value): a Fraction without its sign, or NAN or INF."""
    e, m = FORMATS[fmt]
    sign, exponent, fraction = (
        bits >> (e + m) & 1,
        bits >> m & ((1 << e) - 1),
        bits & ((1 << m) - 1),
    )
    bias = (1 << (e - 1)) - 1
    if exponent == (1 << e) - 1:
        return sign, NAN if fraction else INF
    if exponent == 0:
        return sign, Fraction(fraction) * power(1 - bias - m)
    return sign, Fraction(fraction + (1 << m)) * power(exponent - bias - m)


def encode(fmt, sign, value, mode="rn"):
    """Bits of a magnitude, rounded once."""
    e, m = FORMATS[fmt]
    top, bias = (1 << e) - 1, (1 << (e - 1)) - 1
    if value is NAN:
        return nan_bits(fmt)
    up = (mode == "rp" and not sign) or (mode == "rm" and sign)
    if value is INF:
        out = top << m
    else:
        exponent = 1 - bias
        if value:
            n = value.numerator.bit_length() - value.denominator.bit_length()
            exponent = max(n if value >= power(n) else n - 1, exponent)
        scaled = value / power(exponent - m)
        whole, rest = divmod(scaled.numerator, scaled.denominator)
        twice = 2 * rest - scaled.denominator
        if (mode == "rn" and (twice > 0 or (twice == 0 and whole & 1))) or (up and rest):
            whole += 1
        out = whole + ((exponent + bias - 1) << m)
        if out >= top << m:
            out = (top << m) - (0 if mode == "rn" or up else 1)
    return sign << (e + m) | out


def flush(fmt, bits):
    e, m = FORMATS[fmt]
    return bits if bits >> m & ((1 << e) - 1) else bits & 1 << (e + m)


def tiny(fmt, bits_wide):
    """Whether a result in the format's precision lies below its least normal number."""
    _, v = decode(fmt + "+", bits_wide)
    e, _ = FORMATS[fmt]
    return v is not NAN and v is not INF and v < power(2 - (1 << (e - 1)))


def signed(sign, value):
    return -value if sign else value


def total(fmt, terms, mode):
    """Exact sum of (sign, value) terms, rounded once; the sign of a zero as IEEE 754 has it."""
    if any(v is NAN for _, v in terms):
        return nan_bits(fmt)
    infinite = {s for s, v in terms if v is INF}
    if infinite:
        return nan_bits(fmt) if len(infinite) == 2 else encode(fmt, infinite.pop(), INF)
    exact = sum(signed(s, v) for s, v in terms)
    if exact:
        return encode(fmt, int(exact < 0), abs(exact), mode)
    signs = {s for s, _ in terms}
    sign = signs.pop() if len(signs) == 1 else int(mode == "rm")
    return encode(fmt, sign, Fraction(0))


def product(a, b):
    sign = a[0] ^ b[0]
    if a[1] is NAN or b[1] is NAN:
        return sign, NAN
    if a[1] is INF or b[1] is INF:
        return sign, NAN if 0 in (a[1], b[1]) else INF
    return sign, a[1] * b[1]


def quotient(fmt, a, b, mode):
    sign = a[0] ^ b[0]
    if a[1] is NAN or b[1] is NAN or a[1] is b[1] is INF or a[1] == b[1] == 0:
        return nan_bits(fmt)
    if a[1] is INF or b[1] == 0:
        return encode(fmt, sign, INF)
    if b[1] is INF:
        return encode(fmt, sign, Fraction(0))
    return encode(fmt, sign, a[1] / b[1], mode)


def root(fmt, a, mode):
    sign, value = a
    if value is NAN or (sign and value != 0):
        return nan_bits(fmt)
    if value is INF or value == 0:
        return encode(fmt, sign, value)
    # 200 bits of the root, the last one set where something is left: enough for one rounding.
    shift = 2 * (200 + value.denominator.bit_length())
    scaled = (value.numerator << shift) // value.denominator
    exact = (value.numerator << shift) % value.denominator == 0
    r = isqrt(scaled)
    inexact = not exact or r * r != scaled
    return encode(fmt, 0, Fraction(2 * r + inexact) / power(shift // 2 + 1), mode)
