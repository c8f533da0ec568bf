# ruff: noqa: E501 - tables are wide
"""Real code of CUDA's toolkit, as nvcc compiles it: CUB, curand, cuda::atomic and words of parts."""

import functools
import math
from ctypes import c_int, c_uint64

import numpy as np
import pytest

from .toolkit_modules import library

__all__ = ["library"]

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
    # One thread exchanges 7 for 9. Only this thread writes the value that it found.
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
