"""The references by the names of their semantics, and what all of them are made with."""

SIZES = {"pred": 1, "f16": 16, "bf16": 16, "f16x2": 32, "bf16x2": 32, "f32": 32, "f64": 64}
SIZES |= {"u16x2": 32, "s16x2": 32, "tf32": 32, "e4m3x2": 16, "e5m2x2": 16, "e2m1x2": 8}
SIZES |= dict.fromkeys(("e4m3x4", "e5m2x4", "e2m3x4", "e3m2x4"), 32)
SIZES |= {
    "e2m3x2": 16,
    "e3m2x2": 16,
    "ue8m0x2": 16,
    "s2f6x2": 16,
    "f32x2": 64,
    "u8x4": 32,
    "s8x4": 32,
}
FUNCTIONS = {}


def size(t):
    return SIZES.get(t) or int(t[1:])


def cut(t, x):
    return x & ((1 << size(t)) - 1)


def value(t, bits):
    """A bit pattern as the number it stands for in an integer type."""
    n = size(t)
    bits &= (1 << n) - 1
    return bits - (1 << n) if t[0] == "s" and bits >> (n - 1) else bits


def limits(t):
    n = size(t)
    return (-(1 << (n - 1)), (1 << (n - 1)) - 1) if t[0] == "s" else (0, (1 << n) - 1)


def clamp(t, x):
    low, high = limits(t)
    return min(max(x, low), high)


def define(*names):
    def keep(function):
        for name in names:
            FUNCTIONS[name] = function
        return function

    return keep
