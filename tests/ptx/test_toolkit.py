# ruff: noqa: E501 - tables are wide
"""Real code of CUDA's toolkit, as nvcc compiles it: CUB, curand, cuda::atomic, half and bfloat16."""

import functools
import math
import pathlib
from ctypes import c_int, c_uint64
from fractions import Fraction

import images
import numpy as np
import pytest

from . import floats as fl
from . import reference

FOLDER = pathlib.Path(__file__).with_name("toolkit")


@pytest.fixture(scope="module")
def library(started):
    """A function that gives the module of a source."""
    started.make_current()
    modules = {}

    def load(name):
        if name not in modules:
            text = images.compiled(
                f"{name}.90.ptx",
                FOLDER / f"{name}.cu",
                "-ptx",
                "-arch=compute_90",
                "-diag-suppress=177,20054",
            )
            modules[name] = started.load(text.read_text())
        return modules[name]

    yield load
    for module in modules.values():
        module.unload()


# -- CUB ---------------------------------------------------------------------------------------

BLOCK, ITEMS, GRID = 128, 4, 3


@pytest.fixture
def cub(library, driver):
    def run(name, a, shape, dtype=np.int32):
        out = np.zeros(shape, dtype)
        library("cub").run(name, GRID, BLOCK, [a, out])
        return out

    return run


NUMBERS = (
    np.random.default_rng(2)
    .integers(-(2**31), 2**31, (GRID, BLOCK * ITEMS), np.int64)
    .astype(np.int32)
)


@pytest.mark.parametrize("name", ["reduce_raking", "reduce_warps"])
def test_reductions(name, cub):
    expected = np.stack([NUMBERS.sum(1, dtype=np.int32), NUMBERS.max(1)], 1)
    assert (cub(name, NUMBERS, (GRID, 2)) == expected).all()


@pytest.mark.parametrize("name", ["scan_raking", "scan_warps"])
def test_scans(name, cub):
    assert (cub(name, NUMBERS, NUMBERS.shape) == np.cumsum(NUMBERS, 1, dtype=np.int32)).all()


def test_sorting(cub):
    unsigned = NUMBERS.view(np.uint32)
    assert (cub("sort_unsigned", unsigned, unsigned.shape, np.uint32) == np.sort(unsigned, 1)).all()
    reals = np.random.default_rng(3).normal(0, 1e10, NUMBERS.shape).astype(np.float32)
    reals[:, ::7] *= np.float32(1e-20)
    reals[:, :3] = [np.inf, -np.inf, 0]
    assert (cub("sort_float", reals, reals.shape, np.float32) == np.sort(reals, 1)).all()
    few = NUMBERS % 50  # stable: those that are equal stay in order
    assert (cub("sort_pairs", few, few.shape) == np.argsort(-few, 1, kind="stable")).all()


@pytest.mark.parametrize("name", ["histogram_sort", "histogram_atomic"])
def test_histograms(name, cub):
    a = (np.random.default_rng(4).normal(128, 30, NUMBERS.shape)).astype(np.uint8)
    expected = np.stack([np.bincount(row, minlength=256) for row in a])
    assert (cub(name, a, (GRID, 256), np.uint32) == expected).all()


def test_warps(cub):
    a = NUMBERS[:, :BLOCK].copy()
    out = cub("warps", a, (GRID, BLOCK, 3))
    eights = a.reshape(GRID, -1, 8).sum(2, dtype=np.int32)
    assert (out[:, ::8, 0] == eights).all()
    warps = a.reshape(GRID, -1, 32)
    running = np.cumsum(warps, 2, dtype=np.int32)
    assert (out[:, :, 1].reshape(warps.shape) == running - warps).all()
    assert (out[:, :, 2].reshape(warps.shape) == running[:, :, -1:]).all()


# -- curand ------------------------------------------------------------------------------------

SEED, THREADS, DRAWN = 0x123456789ABCDEF, 64, 24


def philox_numbers(seed, thread, count):
    """Philox 4x32 of ten rounds (Salmon et al., 2011); a thread's place is the counter's upper half."""
    out = []
    for block in range((count + 3) // 4):
        c, k = [block, 0, thread, 0], [seed & 0xFFFFFFFF, seed >> 32]
        for _ in range(10):
            a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [b >> 32 ^ c[1] ^ k[0], b & 0xFFFFFFFF, a >> 32 ^ c[3] ^ k[1], a & 0xFFFFFFFF]
            k = [k[0] + 0x9E3779B9 & 0xFFFFFFFF, k[1] + 0xBB67AE85 & 0xFFFFFFFF]
        out += c
    return out[:count]


def xorwow_step(v):
    t = v[0] ^ v[0] >> 2
    last = v[4] ^ v[4] << 4 & 0xFFFFFFFF ^ t ^ t << 1 & 0xFFFFFFFF
    return [*v[1:], last]


@functools.cache
def xorwow_jump():
    """2^67 steps of the linear part, as a matrix over bits."""
    columns = []
    for bit in range(160):
        made = xorwow_step([1 << bit % 32 if word == bit // 32 else 0 for word in range(5)])
        columns.append([made[n // 32] >> n % 32 & 1 for n in range(160)])
    matrix = np.array(columns, np.uint8).T
    for _ in range(67):
        matrix = matrix @ matrix & 1
    return matrix


def xorwow_numbers(seed, thread, count):
    """Marsaglia's xorwow; each thread's sequence is 2^67 further on."""
    s, t = (seed & 0xFFFFFFFF) ^ 0xAAD26B49, seed >> 32 ^ 0xF7DCEFDD
    s, t = 1099087573 * s & 0xFFFFFFFF, 2591861531 * t & 0xFFFFFFFF
    d = 6615241 + t + s & 0xFFFFFFFF
    v = [
        123456789 + s & 0xFFFFFFFF,
        362436069 ^ s,
        521288629 + t & 0xFFFFFFFF,
        88675123 ^ t,
        5783321 + s & 0xFFFFFFFF,
    ]
    bits = np.array([v[n // 32] >> n % 32 & 1 for n in range(160)], np.uint8)
    for _ in range(thread):
        bits = xorwow_jump() @ bits & 1
    v = [sum(int(bits[32 * w + n]) << n for n in range(32)) for w in range(5)]
    out = []
    for _ in range(count):
        v = xorwow_step(v)
        d = d + 362437 & 0xFFFFFFFF
        out.append(v[4] + d & 0xFFFFFFFF)
    return out


@pytest.fixture
def drawn(library, driver):
    def run(name):
        out = np.zeros((THREADS, DRAWN), np.uint32)
        library("random").run(name, 2, THREADS // 2, [out, c_int(DRAWN), c_uint64(SEED)])
        return out

    return run


@pytest.mark.parametrize(
    ("name", "numbers", "threads"),
    [("philox", philox_numbers, THREADS), ("xorwow", xorwow_numbers, 4)],
)
def test_generators(name, numbers, threads, drawn):
    out = drawn(name)
    for thread in range(threads):
        assert out[thread].tolist() == numbers(SEED, thread, DRAWN)


def test_a_generator_by_its_moments(drawn):
    x = drawn("mrg") / 2.0**32
    assert abs(x.mean() - 0.5) < 0.03 and abs(x.var() - 1 / 12) < 0.01
    assert len(np.unique(x)) == x.size


def test_distributions(library, driver):
    count = 8
    uniform, normal = np.zeros((2, THREADS, count), np.float32)
    wide = np.zeros((THREADS, count))
    library("random").run("distributions", 2, THREADS // 2, [uniform, normal, wide, c_int(count)])
    bits = np.array([philox_numbers(42, t, count) for t in range(THREADS)], np.uint32)
    expected = (bits.astype(np.float32).astype(float) * 2.0**-32 + 2.0**-33).astype(np.float32)
    assert (uniform == expected).all()
    u, v = (bits[:, n::2] * 2.0**-32 + 2.0**-33 for n in (0, 1))
    radius = np.sqrt(-2 * np.log(u))
    pairs = np.stack([np.sin(2 * np.pi * v) * radius, np.cos(2 * np.pi * v) * radius], 2)
    assert np.abs(normal - pairs.reshape(THREADS, count)).max() < 1e-5
    assert ((wide > 0) & (wide <= 1)).all() and abs(wide.mean() - 0.5) < 0.05


# -- cuda::atomic ------------------------------------------------------------------------------


def test_atomics(library, driver):
    grid, block = 5, 96
    out, total = np.zeros(5 + grid, np.int32), np.zeros(1)
    out[3] = 7
    library("random").run("atomics", grid, block, [out, total])
    bits = 0
    for n in range(grid * block):
        bits ^= 1 << n % block % 31
    # One thread exchanges 7 for 9, and it alone writes what it found.
    assert list(out) == [2 * grid * block, grid * block - 1, bits, 9, 7] + [block] * grid
    assert total[0] == grid * block / 2


@pytest.mark.parametrize("block", [32, 127, 256])
def test_threads_that_wait_for_each_other(block, library, driver):
    assert math.gcd(block, 37) == 1  # a permutation
    out = np.zeros(block, np.int32)
    library("random").run("chain", 1, block, [out])
    t = np.arange(block)
    expected = np.zeros(block, np.int32)
    expected[t * 37 % block] = t
    assert (out == expected).all()


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
    """Within two units in the last place, as the documentation has it for the functions."""
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
            narrow.narrow_eight({}, t, "f32", int(v)) for v in x.view(np.uint32)
        ]
        wide = [narrow.widen_eight({}, t, int(v)) for v in got]
        expected = np.array(wide, np.uint16).view(np.float16).astype(np.float32)
        assert ((back[:, n] == expected) | (np.isnan(expected) & np.isnan(back[:, n]))).all()


def test_words_of_parts(library, driver):
    rng = np.random.default_rng(9)
    a, b = rng.integers(0, 1 << 32, (2, 128), np.uint64).astype(np.uint32)
    out = np.zeros((128, 16), np.uint32)
    library("half").run("words", 1, 128, [a, b, out])

    def parts(kind):
        return [x.view(kind).reshape(128, -1).astype(np.int64) for x in (a, b)]

    def clamp(x, kind):
        return np.clip(x, np.iinfo(kind).min, np.iinfo(kind).max)

    def word(x, kind):
        return np.ascontiguousarray(x.astype(kind)).view(np.uint32)[:, 0]

    (p, q), (r, s), (t, u), (v, w) = (parts(k) for k in ("u1", "u2", "i2", "i1"))
    both = np.concatenate([p, q], 1)
    shift = (a & 31).astype(np.uint64)
    funnel = ((b.astype(np.uint64) << np.uint64(32) | a) << shift) >> np.uint64(32)
    reverse = [int(f"{int(x):032b}"[::-1], 2) for x in a]
    sixteen = np.maximum((t + u).astype("i2").astype(np.int64), t)
    expected = [
        word(p + q, "u1"), word(r - s, "u2"), word(abs(p - q), "u1"), abs(t - u).sum(1).astype(np.uint32),
        word(np.maximum(t, u), "i2"), word(np.minimum(p, q), "u1"), word((p + q + 1) >> 1, "u1"), word(np.where(v > w, -1, 0), "i1"),
        word(clamp(t + u, "i2"), "i2"), word(clamp(p - q, "u1"), "u1"), word(sixteen, "i2"),
        np.minimum(np.minimum(a.view(np.int32), b.view(np.int32)), 5).view(np.uint32), ((p * q).sum(1) + 7).astype(np.uint32),
        np.array(reverse, np.uint32), word(both[:, [1, 6, 4, 2]], "u1"), funnel.astype(np.uint32),
    ]  # fmt: skip
    for n, column in enumerate(expected):
        assert (out[:, n] == column).all(), n
