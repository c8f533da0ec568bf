"""Arithmetic with one rounding to nearest, in exact fractions: the reference of contraction."""

from fractions import Fraction

import numpy as np

PRECISION = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}  # bits of a significand


def rounded(value, bits):
    """The nearest number with so many bits; exponents have no end, so inputs have to be near 1."""
    if value == 0:
        return value
    scale = Fraction(2) ** (bits - 1 - _exponent(abs(value)))
    return Fraction(round(value * scale)) / scale


def _exponent(size):
    """The power of two that a positive fraction is at least."""
    guess = size.numerator.bit_length() - size.denominator.bit_length()
    return guess if size >= Fraction(2) ** guess else guess - 1


class Arithmetic:
    """The operations of a type; names in an expression are theirs."""

    def __init__(self, type_name):
        self.bits = PRECISION[type_name]

    def mul(self, a, b):
        return rounded(a * b, self.bits)

    def add(self, a, b):
        return rounded(a + b, self.bits)

    def sub(self, a, b):
        return rounded(a - b, self.bits)

    def fma(self, a, b, c):
        return rounded(a * b + c, self.bits)

    def apart(self, a, b, c):
        return self.add(self.mul(a, b), c)

    def value(self, expression, names, fused=True):
        fma = self.fma if fused else self.apart
        own = {"mul": self.mul, "add": self.add, "sub": self.sub, "fma": fma}
        return eval(expression, own, names)  # an expression of the test's own table


def bits_of(values, type_name):
    """Fractions as the type's bits."""
    numbers = np.array([float(v) for v in values])
    if type_name == "bf16":
        return (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    wide = {"f64": np.float64, "f32": np.float32, "f16": np.float16}[type_name]
    return numbers.astype(wide).view(f"u{np.dtype(wide).itemsize}")


def fractions_of(bits, type_name):
    if type_name == "bf16":
        numbers = (bits.astype(np.uint32) << 16).view(np.float32)
    else:
        numbers = bits.view({"f64": np.float64, "f32": np.float32, "f16": np.float16}[type_name])
    return [Fraction(float(x)) for x in numbers]
