"""Kernels as Triton compiles them, launched as it does: what it makes of triton/kernels.py.

That lies in files beside it.
"""

import math
import os
import pathlib
import re

import numpy as np
import pytest

from . import device_process

FILES = sorted(pathlib.Path(__file__).with_name("triton").glob("*.ptx"))
BLACKWELL = [file for file in FILES if file.name.endswith(".100.ptx")]
TESTS = {}  # test by a kernel's name, or by the part before '_'


def kernel(test):
    TESTS[test.__name__] = test
    return test


def run_kernel(file, load, on_hardware=False):
    text, name = file.read_text(), file.name.split(".")[0]
    if on_hardware:  # older than Triton's assembler: what counts is each form
        text = re.sub(r"^\.version 9\.\d", ".version 9.0", text, flags=re.M)
    said = re.match(
        r"// Triton .*; name (\w+), threads (\d+), shared (\d+)(?:, scratch (\d+))?\n", text
    )
    entry, (threads, shared, scratch) = said[1], (int(n or 0) for n in said.groups()[1:])
    module = load(text)

    def run(grid, *arguments):
        # Pointers to scratch memory of the blocks, such as tensor maps, and of a profiler.
        blocks = grid[0] * grid[1] if isinstance(grid, tuple) else grid
        own = np.zeros(scratch * blocks, np.uint8) if scratch else np.uint64(0)
        module.run(entry, grid, threads, [*arguments, own, np.uint64(0)], shared)

    kind, _, of = name.partition("_")
    TESTS[kind](run, np.random.default_rng(len(name)), *([of] if of else []))


@pytest.mark.parametrize(
    "file", [f for f in FILES if f not in BLACKWELL], ids=lambda file: file.stem
)
def test_kernel(file, driver, load):
    run_kernel(file, load, driver.on_hardware)


def run_here(file):
    """In a process with a device of compute capability 10.0."""
    run_kernel(file, device_process.driver().load)


@pytest.mark.skipif(
    "CUPOLA_TEST_DRIVER" in os.environ, reason="asks a device of another capability"
)
@pytest.mark.parametrize("file", BLACKWELL, ids=lambda file: file.stem)
def test_blackwell_kernel(file, newer_devices):
    newer_devices("10.0").run(run_here, file)


def test_products_of_blackwell_are_those_of_tensor_memory():
    products = [f for f in BLACKWELL if "tcgen05.mma" in f.read_text()]
    assert products == BLACKWELL and len(products) >= 6


def test_every_kernel_has_a_file():
    source = pathlib.Path(__file__).with_name("triton").joinpath("kernels.py").read_text()
    kernels = re.findall(r"^@triton.jit\ndef (\w+)", source, re.M)
    assert {file.name.split(".")[0].split("_")[0] for file in FILES} == set(kernels) == set(TESTS)


@kernel
def add(run, random):
    x, y = random.normal(size=(2, 1300)).astype(np.float32)
    out = np.zeros_like(x)
    run(3, x, y, out, np.int32(1300))
    assert (out == x + y).all()


@kernel
def softmax(run, random):
    x = random.normal(0, 4, (7, 256)).astype(np.float32)
    out = np.zeros_like(x)
    run(7, x, out, np.int32(256), np.int32(200))
    e = np.exp(x[:, :200].astype(float) - x[:, :200].max(1, keepdims=True))
    np.testing.assert_allclose(out[:, :200], e / e.sum(1, keepdims=True), rtol=2e-6)
    assert not out[:, 200:].any()


def small_float(bits):
    """The values of e4m3 bit patterns."""
    exponent, part = bits.astype(int) >> 3 & 15, bits & 7
    size = np.where(exponent == 0, part * 2.0**-9, (8 + part) * 2.0 ** (exponent - 10.0))
    return np.where(bits & 128, -size, size)


def factors(random, of, shape):
    """Random elements, and what they are as numbers."""
    x = random.normal(size=shape).astype(np.float32)
    bits = x.view(np.uint32)
    if of == "f16":
        return x.astype(np.float16), x.astype(np.float16).astype(float)
    if of == "bf16":
        high = (bits >> 16).astype(np.uint16)
        return high, (high.astype(np.uint32) << 16).view(np.float32).astype(float)
    if of == "tf32":  # tensor cores read the upper 19 bits
        return x, (bits & 0xFFFFE000).view(np.float32).astype(float)
    if of == "e4m3":
        small = random.integers(0, 80, shape).astype(np.uint8) | (bits >> 24 & 128).astype(np.uint8)
        return small, small_float(small)
    whole = random.integers(-128, 128, shape).astype(np.int8)
    return whole, whole.astype(float)


@kernel
def matmul(run, random, of):
    rows, columns, inner = 128, 64, 96 if of != "e4m3" else 64
    (a, left), (b, right) = (
        factors(random, of, (rows, inner)),
        factors(random, of, (inner, columns)),
    )
    c = np.zeros((rows, columns), np.int32 if of == "i8" else np.float32)
    run((rows // (32 if of == "tf32" else 64), 1), a, b, c, np.int32(columns), np.int32(inner))
    expected, sizes = left @ right, abs(left) @ abs(right)
    if of == "i8":
        assert (c == expected).all()
    else:  # sums of e4m3 have 14 bits
        assert (abs(c - expected) <= sizes * (2.0**-11 if of == "e4m3" else 2.0**-20)).all()


def repeated(random, shape):
    """Exponents of a factor for each 32 elements, and the factors of all elements."""
    exponents = random.integers(124, 130, (shape[0], shape[1] // 32)).astype(np.uint8)
    return exponents, np.repeat(2.0 ** (exponents.astype(int) - 127), 32, axis=1)


@kernel
def scaled(run, random, of):
    rows, columns, inner = 128, 64, 256

    def factor(shape):
        if of == "e4m3":
            return factors(random, of, shape)
        codes = random.integers(0, 16, shape).astype(np.uint8)
        sizes = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
        packed = codes[:, ::2] | codes[:, 1::2] << 4
        return packed, np.where(codes & 8, -1, 1) * sizes[codes & 7]

    (a, left), (b, right) = factor((rows, inner)), factor((columns, inner))
    (sa, of_left), (sb, of_right) = repeated(random, left.shape), repeated(random, right.shape)
    c = np.zeros((rows, columns), np.float32)
    run(1, a, sa, b, sb, c, np.int32(columns), np.int32(inner))
    left, right = left * of_left, right * of_right
    assert (abs(c - left @ right.T) <= (abs(left) @ abs(right.T)) * 2.0**-11).all()


@kernel
def persistent(run, random):
    """Six tiles by four blocks."""
    rows, columns, inner = 256, 192, 128
    a = random.normal(size=(rows, inner)).astype(np.float16)
    b = random.normal(size=(columns, inner)).astype(np.float16)
    c = np.zeros((rows, columns), np.float16)
    run(4, a, b, c, *map(np.int32, (rows, columns, inner)))
    left, right = a.astype(float), b.astype(float).T
    bound = 2.0**-11 * abs(left @ right) + 2.0**-18 * (abs(left) @ abs(right))
    assert (abs(c - left @ right) <= bound).all()


@kernel
def attention(run, random):
    q, k, v = random.normal(size=(3, 128, 32)).astype(np.float16)
    out = np.zeros((128, 32), np.float32)
    run(2, q, k, v, out, np.int32(128), np.float32(0.125))
    scores = q.astype(float) @ k.astype(float).T * 0.125
    e = np.exp(scores - scores.max(1, keepdims=True))
    np.testing.assert_allclose(out, e / e.sum(1, keepdims=True) @ v.astype(float), atol=2e-3)


@kernel
def total(run, random):
    x, out = random.integers(-100, 100, 3000).astype(np.float32), np.zeros(3, np.float32)
    run(6, x, out, np.int32(3000))
    assert list(out) == [x.sum(), x.max(), x.min()]


@kernel
def locked(run, random):
    lock, out = np.zeros(1, np.int32), np.zeros(1, np.int32)
    run(8, lock, out)
    assert (lock[0], out[0]) == (0, 32)


@kernel
def histogram(run, random):
    x, out = random.integers(0, 64, 1300).astype(np.int32), np.zeros(64, np.int32)
    run(3, x, out, np.int32(1300))
    assert (out == np.bincount(x, minlength=64)).all()


@kernel
def halves(run, random):
    x, out = random.integers(-9, 9, 1300).astype(np.float16), np.zeros(64, np.float16)
    run(3, x, out, np.int32(1300))
    assert (out == np.bincount(np.arange(1300) % 64, x)).all()


@kernel
def layernorm(run, random):
    x, (w, b) = random.normal(size=(5, 500)).astype(np.float16), random.normal(size=(2, 500))
    w, b, out = w.astype(np.float32), b.astype(np.float32), np.zeros((5, 500), np.float16)
    run(5, x, w, b, out, np.int32(500), np.float32(1e-5))
    v = x.astype(float)
    expected = (v - v.mean(1, keepdims=True)) / np.sqrt(v.var(1, keepdims=True) + 1e-5) * w + b
    np.testing.assert_allclose(out.astype(float), expected, rtol=2.0**-10, atol=1e-5)


@kernel
def eight(run, random):
    x = random.normal(0, 50, 1000).astype(np.float32)
    out = np.zeros_like(x)
    run(2, x, out, np.int32(1000))
    numbers = small_float(np.arange(256))[np.arange(256) % 128 != 127]  # leaves out the NaNs
    assert (abs(out - x) == abs(numbers[:, None] - x.astype(float)).min(0)).all()


@kernel
def order(run, random):
    x = random.integers(-1000, 1000, (3, 128)).astype(np.int32)
    out = np.zeros_like(x)
    run(3, x, out)
    assert (out == np.cumsum(np.sort(x, 1), 1)).all()


@kernel
def transpose(run, random):
    x, out = random.normal(size=(64, 32)).astype(np.float16), np.zeros((32, 64), np.float16)
    run(1, x, out)
    assert (out == x.T).all()


@kernel
def functions(run, random):
    x = random.uniform(0.01, 30, 256).astype(np.float32)
    out = np.zeros((6, 256), np.float32)
    run(1, x, out, np.int32(256))
    v = x.astype(float)
    erf = [math.erf(one) for one in v]
    expected = [np.sin(v), np.log2(v), erf, v**1.5, np.tanh(v), 1 / np.sqrt(v)]
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=2e-6)


@kernel
def noise(run, random):
    out = np.zeros(1024, np.uint32)
    run(2, out, np.int32(123456789))
    assert (out == philox(np.arange(1024, dtype=np.uint64), 123456789)).all()


def philox(first, key):
    """The first of the four numbers of Philox-4x32-10 that are counted by `first`."""
    low = np.uint64(0xFFFFFFFF)
    c = [first, *np.zeros((3, len(first)), np.uint64)]
    keys = [np.uint64(key), np.uint64(0)]
    for _ in range(10):
        p, q = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [
            q >> np.uint64(32) ^ c[1] ^ keys[0],
            q & low,
            p >> np.uint64(32) ^ c[3] ^ keys[1],
            p & low,
        ]
        keys = [keys[0] + np.uint64(0x9E3779B9) & low, keys[1] + np.uint64(0xBB67AE85) & low]
    return c[0]
