# ruff: noqa: E501 - tables are wide
"""Functions of half, bfloat16 and eight bits in CUDA's headers, as nvcc compiles them."""

import math
from ctypes import c_int
from fractions import Fraction

import numpy as np
import pytest

from . import floats as fl
from . import reference
from .toolkit_modules import library

__all__ = ["library"]

# -- half, bfloat16, eight bits ----------------------------------------------------------------

EXACT = {"add": "AddReal", "sub": "SubReal", "mul": "MulReal", "fma": "FmaReal", "min": "MinReal", "max": "MaxReal",
         "neg": "NegReal", "abs": "AbsReal"}  # fmt: skip
NEAR = {
    "div": lambda a, b: a / b, "sqrt": lambda a, b: np.sqrt(np.abs(a)), "rsqrt": lambda a, b: 1 / np.sqrt(np.abs(a)),
    "rcp": lambda a, b: 1 / a, "exp": lambda a, b: np.exp(a), "exp2": lambda a, b: np.exp2(a),
    "exp10": lambda a, b: 10.0**a, "log": lambda a, b: np.log(np.abs(a)), "log2": lambda a, b: np.log2(np.abs(a)),
    "log10": lambda a, b: np.log10(np.abs(a)), "sin": lambda a, b: np.sin(a), "cos": lambda a, b: np.cos(a),
    "tanh": lambda a, b: np.tanh(a), "floor": lambda a, b: np.floor(a), "ceil": lambda a, b: np.ceil(a),
    "trunc": lambda a, b: np.trunc(a), "rint": lambda a, b: np.rint(a),
}  # fmt: skip
FORMAT = {"half": "f16", "bfloat": "bf16"}


def sources(kind, count=256):
    """Bit patterns: all kinds of numbers, more of them ordinary ones."""
    rng = np.random.default_rng(11)
    e, m = fl.FORMATS[FORMAT[kind]]
    bias = (1 << (e - 1)) - 1
    a, b = rng.integers(0, 1 << 16, (2, count), np.uint16)
    ordinary = (
        (bias + rng.integers(-5, 4, (2, count))) << m
        | rng.integers(0, 1 << m, (2, count))
        | rng.integers(0, 2, (2, count)) << 15
    ).astype(np.uint16)
    keep = np.arange(count) % 4 != 0
    return np.where(keep, ordinary[0], a), np.where(keep, ordinary[1], b)


def real(kind, bits):
    sign, v = fl.decode(FORMAT[kind], int(bits))
    v = math.nan if v == fl.NAN else math.inf if v == fl.INF else float(v)
    return -v if sign else v


def bits_of(kind, x):
    if math.isnan(x):
        return fl.nan_bits(FORMAT[kind])
    sign = int(math.copysign(1, x) < 0)
    return fl.encode(FORMAT[kind], sign, fl.INF if math.isinf(x) else Fraction(abs(x)))


def place(bits):
    return -(bits & 0x7FFF) if bits & 0x8000 else bits


def is_nan(kind, bits):
    return fl.decode(FORMAT[kind], int(bits))[1] == fl.NAN


def run_half(library, name, a, b):
    out = np.zeros_like(a)
    library("half").run(name, 2, 128, [a, b, out, c_int(len(a) // (2 if "2_" in name else 1))])
    return out


@pytest.mark.parametrize("kind", FORMAT)
@pytest.mark.parametrize("name", EXACT)
def test_exact(kind, name, library, driver):
    a, b = sources(kind)
    out = run_half(library, f"{kind}_{name}", a, b)
    function, t = reference.FUNCTIONS[EXACT[name]], FORMAT[kind]
    for x, y, got in zip(a.tolist(), b.tolist(), out.tolist(), strict=True):
        taken = [x, y, x][: {"fma": 3, "neg": 1, "abs": 1}.get(name, 2)]
        expected = function({"rn_always": "rn"}, t, None, *taken)[0]
        if expected is None or is_nan(kind, expected):
            assert is_nan(kind, got)
        else:
            assert got == expected, (hex(x), hex(y))


@pytest.mark.parametrize("kind", FORMAT)
@pytest.mark.parametrize("name", NEAR)
def test_near(kind, name, library, driver):
    """Within two units in the last place, the bound of CUDA's documentation."""
    a, b = sources(kind)
    out = run_half(library, f"{kind}_{name}", a, b)
    with np.errstate(all="ignore"):
        x, y = (np.array([real(kind, v) for v in s]) for s in (a, b))
        exact = NEAR[name](x, y)
    for x, y, e, got in zip(a, b, exact, out.tolist(), strict=True):
        expected = bits_of(kind, float(e))
        if is_nan(kind, expected):
            assert is_nan(kind, got), (hex(x), hex(got))
        else:
            assert abs(place(got) - place(expected)) <= 2, (hex(x), hex(y), hex(got), hex(expected))


@pytest.mark.parametrize("kind", FORMAT)
@pytest.mark.parametrize("name", ["add", "fma", "max", "less", "equal", "unordered", "relu", "div"])
def test_pairs(kind, name, library, driver):
    a, b = sources(kind)
    out = run_half(library, f"{kind}2_{name}", a, b)
    compare = {
        "less": lambda x, y: x < y,
        "equal": lambda x, y: x == y,
        "unordered": lambda x, y: not x > y,
    }
    for x, y, got in zip(a.tolist(), b.tolist(), out.tolist(), strict=True):
        u, v = real(kind, x), real(kind, y)
        if name in compare:
            expected = bits_of(kind, float(compare[name](u, v)))
        elif name == "div":
            with np.errstate(all="ignore"):
                expected = bits_of(kind, float(np.float64(u) / np.float64(v)))
            assert (
                is_nan(kind, got)
                if is_nan(kind, expected)
                else abs(place(got) - place(expected)) <= 1
            )
            continue
        else:
            taken = [x, y, x][: 3 if name in ("fma", "relu") else 2]
            more = {"relu": "relu"} if name == "relu" else {}
            expected = reference.FUNCTIONS[EXACT.get(name, "FmaReal")](
                {"rn_always": "rn", **more}, FORMAT[kind], None, *taken
            )[0]
        assert is_nan(kind, got) if is_nan(kind, expected) else got == expected, (hex(x), hex(y))


def test_comparisons(library, driver):
    a, b = (s[:256] for s in sources("half"))
    b = np.where(np.arange(256) % 3 == 0, a, b)
    out = np.zeros(128, np.uint32)
    library("half").run("comparisons", 1, 128, [a, b, out])
    x, y = (s.view(np.float16).astype(float).reshape(-1, 2) for s in (a, b))
    expected = (x < y)[:, 0] * 1 + (x == y)[:, 0] * 2 + (x >= y)[:, 0] * 4 + (x == y).all(1) * 8
    expected = expected + (x > y)[:, 0] * 0x10 + (x > y)[:, 1] * 0x10000
    assert (out == expected).all()


def test_eight_bits(library, driver):
    rng = np.random.default_rng(8)
    x = (rng.normal(0, 1, 256) * 2.0 ** rng.uniform(-20, 18, 256)).astype(np.float32)
    x[:8] = [0, -0.0, np.inf, -np.inf, np.nan, 448, 57344, 464]
    small, large = np.zeros((2, 256), np.uint8)
    back = np.zeros((256, 2), np.float32)
    library("half").run("eights", 2, 128, [x, small, large, back])
    from .reference import narrow

    for n, t in enumerate(("e4m3x2", "e5m2x2")):
        got = (small, large)[n]
        assert got.tolist() == [
            narrow.narrow_small({}, t, "f32", int(v)) for v in x.view(np.uint32)
        ]
        wide = [narrow.widen_small({}, "f16", t, int(v)) for v in got]
        expected = np.array(wide, np.uint16).view(np.float16).astype(np.float32)
        assert ((back[:, n] == expected) | (np.isnan(expected) & np.isnan(back[:, n]))).all()
