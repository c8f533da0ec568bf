"""Small kernels as compilers of CUDA 12 (NVRTC) have them, for old devices and newer ones."""

import math
import pathlib

import numpy as np
import pytest

from . import driver as ptx

FILES = sorted(pathlib.Path(__file__).with_name("nvrtc").glob("*.ptx"))


@pytest.fixture(scope="module", params=FILES, ids=lambda file: file.stem.partition(".")[2])
def text(request):
    return request.param.read_text()


@pytest.fixture
def random():
    """The same numbers for a test in every run, whichever tests ran before."""
    return np.random.default_rng(12)


@pytest.fixture
def module(text, load):
    return load(text)


def test_there_is_code_of_two_compilers():
    assert {file.name.split(".")[2] for file in FILES} >= {"1", "9"}


def test_reduce(module, random):
    x, out = random.integers(-(10**6), 10**6, 5000).astype(np.int32), np.zeros(1, np.int32)
    module.run("reduce", 4, 256, [x, out, np.int32(5000)])
    assert out[0] == x.sum()


def test_scan(module, random):
    x, out = random.integers(-99, 99, (3, 128)).astype(np.float32), np.zeros((3, 128), np.float32)
    module.run("scan", 3, 128, [x, out], 4 * 128)
    assert (out == np.cumsum(x, 1)).all()


def test_product(module, random):
    a, b = random.integers(-9, 9, (2, 48, 48)).astype(np.float32)
    c = np.zeros_like(a)
    module.run("product", (3, 3), (16, 16), [a, b, c, np.int32(48)])
    assert (c == a @ b).all()


def test_atomics(module):
    out, wide, real = np.zeros(7, np.uint32), np.zeros(2, np.uint64), np.zeros(1, np.float32)
    out[2] = 2**32 - 1
    module.run("atomics", 5, 64, [out, wide, real])
    i = np.arange(320)
    counted = 320 % 10  # 0 to 9 and round again
    expected = [i.sum(), 319, 2**32 - 320, 0, counted, 511, (i * i).sum()]
    assert list(out) == expected
    assert (list(wide), real[0]) == ([int(i.sum()) << 32, 7], 160)


def test_votes(module, random):
    x, out = random.integers(0, 100, 64).astype(np.int32), np.zeros((64, 4), np.uint32)
    module.run("votes", 1, 64, [x, out])
    for t in range(64):
        warp, lane = x[t // 32 * 32 :][:32], t % 32
        even = [int(v % 2 == 0) for v in warp]
        bits = sum(one << k for k, one in enumerate(even))
        some = 2 * (warp > 90).any() + (warp < 90).all()
        assert list(out[t]) == [bits, some, warp[lane ^ 5], sum(even[:lane])]


def test_halves(module, random):
    n = 500
    x = random.normal(size=n).astype(np.float16)
    out, brain = np.zeros(5 * n, np.float16), np.zeros(n, np.uint16)
    module.run("halves", 4, 128, [x, out, brain, np.int32(n)])
    v = x.astype(float)
    with np.errstate(invalid="ignore"):
        expected = [v * v + 0.25, 1 / v, np.where(v > 0, np.sqrt(v), -v)]
    for k, one in enumerate(expected):  # quotients and square roots are not all the nearest
        np.testing.assert_allclose(out[k * n :][:n].astype(float), one, rtol=2.0**-10)
    pairs = (v[:, None] + [1, 2]).astype(np.float16)
    assert (out[3 * n :].reshape(n, 2) == pairs).all()
    bits = (x.astype(np.float32) * np.float32(3)).view(np.uint32)
    assert (brain == (bits + 0x7FFF + (bits >> 16 & 1) >> 16)).all()


def test_functions(module, random):
    n = 300
    x = random.uniform(0.01, 60, n).astype(np.float32)
    out, wide = np.zeros((12, n), np.float32), np.zeros((4, n))
    module.run("functions", 3, 128, [x, out, wide, np.int32(n)])
    v = x.astype(float)
    erf = [math.erf(one) for one in v]
    fmod = np.fmod(v, float(np.float32(0.7)))
    exact = [np.sin(v), np.exp(v), np.log(v), v**2.5, np.tanh(v), erf, v / 3, np.sqrt(v)]
    exact += [1 / np.sqrt(v), fmod, np.exp(v), np.log1p(v)]
    for k, one in enumerate(exact):
        np.testing.assert_allclose(out[k], one, rtol=1e-5 if k == 10 else 1e-6, atol=2e-7)
    assert (out[6] == x / np.float32(3)).all()
    assert (out[7] == np.sqrt(x)).all()
    np.testing.assert_allclose(wide[:2], [np.exp(v), np.log(v)], rtol=1e-15, atol=1e-15)
    assert (wide[2:] == [1 / v, np.sqrt(v)]).all()


def test_integers(module, random):
    n = 200
    ends = np.array([0, 1, -1, 5, 2**63 - 1, -(2**63), 2**32, -(2**31)], np.int64)
    x, y = random.integers(-(2**63), 2**63 - 1, (2, n), np.int64) >> random.integers(0, 63, (2, n))
    x[:8], y[y == 0] = ends, 3
    y[(y == -1)] = 7
    out = np.zeros((8, n), np.int64)
    module.run("integers", 2, 128, [x, y, out, np.int32(n)])
    low = (1 << 64) - 1
    for a, b, row in zip(x.tolist(), y.tolist(), out.T.tolist(), strict=True):
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        unsigned, divisor, word = a & low, b & low, f"{a & low:064b}"
        leading = 64 - (a & low).bit_length()
        short, by = (v + 2**31 & 2**32 - 1 for v in (a, b))
        short, by = short - 2**31, by - 2**31 | 1
        small = abs(short) // abs(by) * (1 if (short < 0) == (by < 0) else -1)
        expected = [quotient, a - quotient * b, unsigned // divisor, unsigned % divisor,
                    a * b >> 64, leading * 100 + word.count("1"), int(word[::-1], 2)]  # fmt: skip
        assert [v & low for v in row[:7]] == [v & low for v in expected]
        assert row[7] == small or (short, by) == (-(2**31), -1)


def test_calls(module):
    pair = np.zeros(1, np.dtype([("first", "f8"), ("second", "i4", 3)], align=True))
    pair["first"], pair["second"] = 2.75, (100, 200, 300)
    out = np.zeros(64, np.int32)
    module.run("calls", 1, 64, [out, pair[0]])
    ladder, steps = (0, 1, 1, 2, 3, 5, 8, 13), (1, 1, 2, 3, 5, 8, 13, 21)
    for t in range(64):
        kinds = (100, int(2.75 * t), steps[t % 8], (100, 200, 300)[t % 3] - t, 5, -t)[t % 6]
        assert out[t] == ladder[t % 8] * 1000 + kinds


def test_speak(text, driver):
    done = ptx.in_child(
        text, "module.launch('speak', 3, 32, [np.int32(3)]); module.driver.cuCtxSynchronize()"
    )
    lines = sorted(f"block {b} of 3: 1.500 done" for b in range(3))
    assert sorted(done.stdout.splitlines()) == lines, done.stderr
