"""Operators and ufuncs on arrays, against NumPy: every operation in every type."""

import warnings

import numpy as np
import pytest

import cupola

NAMES = """bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64
complex64 complex128"""
TYPES = [np.dtype(name) for name in NAMES.split()]


def special(dtype):
    """Elements at the borders of what a type holds, and some between."""
    kind = dtype.kind
    if kind == "b":
        return np.array([True, False, True], dtype)
    if kind in "iu":
        info = np.iinfo(dtype)
        values = [0, 1, 2, 3, 5, 7, 8, 15, 31, 33, 63, 64, 100, info.max, info.max - 1, info.min]
        return np.array(values + ([-1, -2, -7, info.min + 1] if kind == "i" else []), dtype)
    if kind == "f":
        info = np.finfo(dtype)
        values = [0.0, 1.0, 0.5, 1.5, 2.5, 3.3, 1e-3, 7.0, 100.25]
        values += [np.inf, info.max, info.tiny, info.smallest_subnormal, info.eps]
        return np.array([*values, *(-value for value in values), np.nan]).astype(dtype)
    real = [0.0, 1.0, -1.5, 3.25, -0.0, 1e3, np.inf, np.nan]
    return np.array([complex(a, b) for a in real for b in real]).astype(dtype)


def pairs(first, second):
    """Each element of one with each of the other."""
    x, y = special(first), special(second)
    return np.repeat(x, len(y)), np.tile(y, len(x))


def expected(ufunc, *operands, **options):
    """NumPy's result, or the kind of error that it raises."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ufunc(*operands, **options)


def assert_same(there, here):
    """The same bits, but for NaN, whose bits are nobody's promise, and the sign of a zero that a
    minimum or maximum chose.
    """
    got = there.get() if isinstance(there, cupola.Array) else there
    assert got.dtype == here.dtype
    assert got.shape == here.shape
    np.testing.assert_array_equal(got, here)
    if here.dtype.kind == "f":
        known = ~np.isnan(here)
        np.testing.assert_array_equal(np.signbit(got[known]), np.signbit(here[known]))


EXACT = [
    np.add, np.subtract, np.multiply, np.divide,
    np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal,
    np.logical_and, np.logical_or, np.logical_xor,
    np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.left_shift, np.right_shift,
    np.copysign,
]  # fmt: skip


def loops(ufunc, dtypes):
    """Whether NumPy does the operation in types that cupola has."""
    try:
        resolved = ufunc.resolve_dtypes((*dtypes, None))
    except TypeError:
        return False
    return all(dtype in TYPES for dtype in resolved)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("ufunc", EXACT, ids=lambda ufunc: ufunc.__name__)
def test_binary_operations_are_numpys(driver, ufunc, dtype):
    if dtype.kind == "c" and ufunc in (np.multiply, np.divide):
        pytest.skip("NumPy's own result differs with the processor's instructions")
    x, y = pairs(dtype, dtype)
    there, other = cupola.to_device(x), cupola.to_device(y)
    if not loops(ufunc, (dtype, dtype)):
        with pytest.raises(TypeError):
            ufunc(there, other)
        return
    here = expected(ufunc, x, y)
    assert_same(ufunc(there, other), here)
    assert_same(ufunc(there[::-1], other[::-1]), here[::-1])  # strided


def test_the_first_example(driver):
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    there = cupola.to_device(a)
    assert_same(2 * there, 2 * a)
    assert_same(there + there, a + a)
    assert_same(there - 1, a - 1)
    assert_same(1 / (there + 1), 1 / (a + 1))
