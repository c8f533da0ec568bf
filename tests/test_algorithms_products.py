"""matmul, dot, inner, outer, vdot and tensordot of arrays with several axes, against NumPy."""

from pathlib import Path

import images
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cupola
from cupola.arrays import cublas, matrix_product
from cupola.exceptions import ArgumentTypeError, ArgumentValueError

KERNELS = Path(__file__).parent.parent / "csrc/kernels/algorithms"
TYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
quickly = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(params=["kernels", "installed"])
def library(request, monkeypatch, driver):
    """Cupola's kernels; and on a GPU cuBLAS, too, where it is installed."""
    if request.param == "kernels":
        monkeypatch.setattr(cublas, "_installed", lambda: None)


def numbers(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.2
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    made = rng.standard_normal(shape)
    if dtype.kind == "c":
        made = made + 1j * rng.standard_normal(shape)
    return made.astype(dtype)


def check(found, a, b, product=np.matmul):
    """Equal to NumPy's for integers; floats within the documented bound."""
    expected = product(a, b)
    assert type(found) is cupola.Array
    assert found.dtype == expected.dtype and found.shape == expected.shape
    if expected.dtype.kind not in "fc":
        np.testing.assert_array_equal(found.get(), expected)
        return
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    n = a.shape[-1] + 1
    # A sum of n products, and the rounding of the result. Complex numbers have twice the products.
    sums = np.float32 if expected.dtype == np.float16 else expected.dtype
    bound = 2 * n * np.finfo(sums).eps + np.finfo(expected.dtype).eps
    exact = product(a.astype(wide), b.astype(wide))
    most = bound * product(abs(a.astype(wide)), abs(b.astype(wide)))
    tiny = np.finfo(expected.dtype).smallest_subnormal
    assert (abs(found.get().astype(wide) - exact) <= most + tiny).all()


def layouts(x, how):
    """An array on the device with the elements of `x`, in one of several layouts."""
    if how == "transposed":
        return cupola.to_device(np.swapaxes(x, -1, -2).copy()).transpose(
            *range(x.ndim - 2), x.ndim - 1, x.ndim - 2
        )
    if how == "part":  # rows that are not on 16 bytes
        wide = np.zeros((*x.shape[:-2], x.shape[-2] + 1, x.shape[-1] + 3), x.dtype)
        wide[..., 1:, 2:-1] = x
        return cupola.to_device(wide)[..., 1:, 2:-1]
    if how == "apart":
        return cupola.to_device(np.repeat(np.repeat(x, 2, -1), 3, -2))[..., ::3, ::2]
    if how == "backwards":
        return cupola.to_device(x[..., ::-1, :].copy())[..., ::-1, :]
    return cupola.to_device(x)


# NVRTC has no headers of the host's library.
CSTDINT = """
namespace std {
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
}
"""
WAYS = st.sampled_from(["plain", "transposed", "part", "apart", "backwards"])
LENGTHS = st.one_of(st.integers(0, 5), st.sampled_from([8, 15, 16, 17, 31, 33, 40, 63, 65, 72]))


@quickly
@given(
    dtype=st.sampled_from(TYPES), shape=st.tuples(LENGTHS, LENGTHS, LENGTHS), first=WAYS,
    second=WAYS,
)  # fmt: skip
def test_products_of_matrices(library, dtype, shape, first, second):
    rows, inner, columns = shape
    a, b = numbers((rows, inner), dtype, 1), numbers((inner, columns), dtype, 2)
    check(layouts(a, first) @ layouts(b, second), a, b)


# Around the borders of tiles and steps, with whole vectors and without.
@pytest.mark.parametrize("shape", [(128, 64, 128), (129, 31, 127), (260, 100, 136)])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "c8"])
def test_tiles(library, dtype, shape):
    rows, inner, columns = shape
    a, b = numbers((rows, inner), dtype, 3), numbers((inner, columns), dtype, 4)
    for first in ("plain", "transposed"):
        for second in ("plain", "transposed"):
            check(layouts(a, first) @ layouts(b, second), a, b)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_large_and_small_tiles(library, dtype):
    """A device with any number of multiprocessors takes both kernels."""
    many = cupola.Device().multiprocessor_count
    for count in (1, many):
        a, b = numbers((count, 65, 9), dtype, 5), numbers((count, 9, 70), dtype, 6)
        check(cupola.to_device(a) @ cupola.to_device(b), a, b)


STACKS = [
    ((3, 4, 5), (3, 5, 2)),
    ((3, 4, 5), (5, 2)),
    ((4, 5), (3, 5, 2)),
    ((2, 1, 4, 5), (3, 5, 2)),
    ((2, 3, 4, 5), (2, 3, 5, 2)),
    ((2, 3, 4, 5), (2, 1, 5, 2)),
    ((2, 3, 4, 5), (1, 3, 5, 2)),
    ((0, 4, 5), (5, 2)),
    ((1, 4, 0), (3, 0, 2)),
    ((700, 2, 1), (1, 1, 2)),
]


@pytest.mark.parametrize(("first", "second"), STACKS)
def test_stacks_of_matrices(library, first, second):
    for dtype in ("f4", "i2"):
        a, b = numbers(first, dtype, 7), numbers(second, dtype, 8)
        check(np.matmul(cupola.to_device(a), cupola.to_device(b)), a, b)
        check(layouts(a, "transposed") @ layouts(b, "part"), a, b)
        out = cupola.zeros(np.matmul(a, b).shape, dtype)
        assert np.matmul(cupola.to_device(a), cupola.to_device(b), out=out) is out
        check(out, a, b)


@pytest.mark.parametrize("dtype", ["f2", "i4"])
def test_a_block_takes_several_matrices(library, monkeypatch, dtype):
    """Where there are more than a grid has room for."""
    monkeypatch.setattr(matrix_product, "MOST_BATCHES", 2)
    a, b = numbers((5, 3, 40), dtype, 7), numbers((5, 40, 2), dtype, 8)
    check(cupola.to_device(a) @ cupola.to_device(b), a, b)


@pytest.mark.parametrize(
    ("first", "second"),
    [("f4", "f8"), ("i1", "u1"), ("i4", "f4"), ("?", "u2"), ("f2", "c8"), ("u8", "i8")],
)
def test_promotion(driver, first, second):
    a, b = numbers((6, 7), first, 9), numbers((7, 3), second, 10)
    a, b = (x // 4 if x.dtype.kind in "iu" else x for x in (a, b))
    check(cupola.to_device(a) @ cupola.to_device(b), a, b)


def test_outputs(driver):
    a, b = numbers((20, 30), "f4", 11), numbers((30, 20), "f4", 12)
    x, y = cupola.to_device(a), cupola.to_device(b)
    for out in (
        cupola.zeros((20, 20), np.float32), cupola.zeros((20, 20), np.float32, order="F"),
        cupola.zeros((20, 40), np.float32)[:, ::2],
    ):  # fmt: skip
        assert cupola.matmul(x, y, out=out) is out
        check(out, a, b)
    wide = cupola.zeros((20, 20), np.float64)
    cupola.dot(x, y, out=wide)
    np.testing.assert_array_equal(wide.get(), (x @ y).get())
    square = cupola.to_device(a[:, :20])
    cupola.matmul(square, square, out=square)  # the operands' own memory
    check(square, a[:, :20], a[:, :20])
    v = cupola.to_device(a[0])
    out = cupola.zeros(20, np.float32)
    assert cupola.matmul(v, y, out=out) is out
    np.testing.assert_allclose(out.get(), a[0] @ b, rtol=1e-4)


def test_infinities_and_nan_stay_where_they_are(driver):
    """Zeros beyond the edges are multiplied by nothing."""
    for dtype in ("f2", "f4", "f8", "c8"):
        a, b = np.ones((33, 3), dtype), np.ones((3, 35), dtype)
        a[2, 1], b[0, 5] = np.nan, np.inf
        with np.errstate(invalid="ignore"):
            expected = a @ b
        np.testing.assert_array_equal((cupola.to_device(a) @ cupola.to_device(b)).get(), expected)


def test_sums_of_float16_are_of_float32(driver):
    a, b = np.full((1, 4096), 1, "f2"), np.full((4096, 1), 1, "f2")
    b[0] = 0.5  # a sum of float16 would stay at 2048
    assert (cupola.to_device(a) @ cupola.to_device(b)).get()[0, 0] == np.float16(4095.5)


def test_the_instructions_of_newer_tensor_cores(driver):
    """From 8.0 on, machine code copies past registers and multiplies a depth of 16 at once.

    The shipped PTX is for 7.5.
    """
    images.nvrtc()
    headers = {"cstdint": CSTDINT}
    module = cupola.compile(
        KERNELS / "matmul_half.cu", include=[KERNELS], headers=headers, arch="compute_80"
    )
    rows, inner, columns = 140, 83, 130
    a, b = numbers((rows, inner), "f2", 13), numbers((inner, columns), "f2", 14)
    shared = matrix_product.FORMS[np.dtype("f2")].shared
    for first in (True, False):
        for second in (True, False):
            x = cupola.to_device(a if first else np.ascontiguousarray(a.T)).view(np.uint16)
            y = cupola.to_device(np.ascontiguousarray(b.T) if second else b).view(np.uint16)
            out = cupola.empty((rows, columns), np.float16)
            left = x, inner if first else rows, first, 0
            right = y, inner if second else columns, second, 0
            module["matmul_f16"][4, 256, None, shared](
                out.view(np.uint16), *left, *right, rows, columns, inner, 1
            )
            check(out, a, b)


SHAPES = [((4,), (4,)), ((3, 4), (5, 4)), ((2, 3, 4), (5, 4)), ((2, 3, 4), (5, 6, 4)), ((), (3,))]


@pytest.mark.parametrize(("first", "second"), SHAPES)
def test_inner_and_outer_products(driver, first, second):
    for dtype in ("i4", "f8", "c16"):
        a, b = numbers(first, dtype, 15), numbers(second, dtype, 16)
        x, y = cupola.to_device(a), cupola.to_device(b)
        for found, expected in (
            (cupola.inner(x, y), np.inner(a, b)), (np.inner(x, y), np.inner(a, b)),
            (cupola.outer(x, y), np.outer(a, b)), (np.outer(x, y), np.outer(a, b)),
        ):  # fmt: skip
            assert found.dtype == expected.dtype and found.shape == expected.shape
            np.testing.assert_allclose(found.get(), expected, rtol=1e-12, atol=1e-12)
    out = cupola.zeros((3, 4))
    assert np.outer(cupola.arange(3.0), cupola.arange(4.0), out=out) is out
    np.testing.assert_array_equal(out.get(), np.outer(np.arange(3.0), np.arange(4.0)))


def test_dot_of_more_axes(driver):
    for first, second in (((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (6, 4, 5))):
        a, b = numbers(first, "i4", 17), numbers(second, "i4", 18)
        x, y = cupola.to_device(a), cupola.to_device(b)
        for found in (np.dot(x, y), x.dot(y), cupola.dot(x, y)):
            np.testing.assert_array_equal(found.get(), np.dot(a, b))
        out = cupola.zeros(np.dot(a, b).shape, np.int32)
        assert np.dot(x, y, out) is out
        np.testing.assert_array_equal(out.get(), np.dot(a, b))


@pytest.mark.parametrize("dtype", ["i4", "f4", "c8"])
def test_vdot(driver, dtype):
    a, b = numbers((3, 4), dtype, 19), numbers((12,), dtype, 20)
    for found in (
        np.vdot(cupola.to_device(a), cupola.to_device(b)),
        cupola.vdot(cupola.to_device(a), cupola.to_device(b)),
    ):
        np.testing.assert_allclose(found.get(), np.vdot(a, b), rtol=1e-5)


@pytest.mark.parametrize("axes", [0, 1, 2, ([1, 0], [0, 1]), (1, 0), ([-1], [0]), ([], [])])
def test_tensordot(driver, axes):
    a, b = numbers((3, 4), "i8", 21), numbers((4, 3, 2), "i8", 22)
    if axes == 2:
        a = a.T
    for function in (np.tensordot, cupola.tensordot):
        found = function(cupola.to_device(a), cupola.to_device(b), axes)
        np.testing.assert_array_equal(found.get(), np.tensordot(a, b, axes))


def ones(*shape, dtype="f4"):
    return cupola.ones(shape, dtype)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: ones(2, 3) @ ones(2, 3),
            ArgumentValueError,
            r"\(2, 3\) and \(2, 3\) don't",
        ),
        (lambda: ones(2, 2, 3) @ ones(3, 3, 3), ArgumentValueError, "leading axes that broadcast"),
        (
            lambda: cupola.matmul(ones(), ones(2, 2)),
            ArgumentValueError,
            "x1: expected an array",
        ),
        (lambda: cupola.matmul([1], ones(2, 2)), ArgumentTypeError, "x1: expected a cupola.Array"),
        (lambda: ones(2, 2) @ np.ones((2, 2)), ArgumentTypeError, "to_device"),
        (
            lambda: cupola.matmul(ones(2, 2), ones(2, 2), out=ones(2, 3)),
            ArgumentValueError,
            r"out has the shape \(2, 3\)",
        ),
        (
            lambda: cupola.matmul(ones(2, 2), ones(2, 2), out=ones(2, 2, dtype="i4")),
            ArgumentTypeError,
            "same_kind",
        ),
        (
            lambda: cupola.tensordot(ones(2), ones(2), 2),
            ArgumentValueError,
            "axes: expected at most",
        ),
        (lambda: cupola.tensordot(ones(2), ones(3), 1), ArgumentValueError, "have the lengths"),
        (lambda: cupola.tensordot(ones(2), ones(2), "x"), ArgumentTypeError, "a pair of axes"),
        (lambda: cupola.tensordot(ones(2), ones(2), (1, 0)), ArgumentValueError, "out of bounds"),
        (lambda: cupola.inner(ones(2, 3), ones(2)), ArgumentValueError, "inner: shapes"),
    ],
)
def test_errors(driver, call, error, text):
    with pytest.raises(error, match=text):
        call()
