"""Integers in arrays: several narrow ones in a word, quotients and powers, against NumPy."""

import numpy as np
import pytest
from test_elementwise import TYPES, assert_same, expected, special

import cupola

INTEGERS = [dtype for dtype in TYPES if dtype.kind in "iu"]
BY_WORDS = ["add", "subtract", "multiply", "bitwise_xor", "maximum", "minimum", "fmax", "fmin"]
BY_WORDS += ["negative", "square", "invert", "absolute", "sign", "reciprocal", "equal", "less"]
BY_WORDS += ["floor_divide", "remainder", "fmod"]
BY_WORDS += ["not_equal", "less_equal", "greater", "greater_equal", "logical_and", "logical_not"]


@pytest.mark.parametrize("name", BY_WORDS)
@pytest.mark.parametrize("dtype", [t for t in INTEGERS if t.itemsize < 4], ids=str)
def test_narrow_integers_do_not_carry_into_their_neighbours(driver, name, dtype):
    """Several of them are in a register, and arrays are long enough for each kernel's packs."""
    ufunc, info = getattr(np, name), np.iinfo(dtype)
    values = np.linspace(info.min, info.max, 256).astype(dtype)
    x, y = np.repeat(values, 256), np.tile(values, 256)
    if ufunc.nin == 1:
        assert_same(ufunc(cupola.to_device(y)), ufunc(y))
        return
    assert_same(ufunc(cupola.to_device(x), cupola.to_device(y)), expected(ufunc, x, y))
    for scalar in (values[0], values[1], values[-1]):
        assert_same(ufunc(cupola.to_device(x), scalar), expected(ufunc, x, scalar))
        assert_same(ufunc(scalar, cupola.to_device(y)), expected(ufunc, scalar, y))


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integer_powers_wrap(driver, dtype):
    base = special(dtype)
    exponent = np.arange(len(base)).astype(dtype)
    x, y = np.repeat(base, len(base)), np.tile(exponent, len(base))
    assert_same(cupola.to_device(x) ** cupola.to_device(y), x**y)
    assert_same(cupola.to_device(base) ** 3, base**3)
    if dtype.kind == "i":
        with pytest.raises(ValueError, match="negative integer powers"):
            cupola.to_device(base) ** -1
        # In an array they are not looked at before: what is left of the fraction.
        x, y = (np.tile(each, 70).astype(dtype) for each in ([1, -1, 0, 5, -3], [-2, -3]))
        there = cupola.to_device(x) ** cupola.to_device(y.repeat(5)[: len(x)])
        units = np.where(np.abs(x) == 1, x, 0)
        assert_same(there, units ** -y.repeat(5)[: len(x)])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16])
def test_quotients_of_narrow_integers(driver, dtype):
    """Of bytes all pairs; of 16 bits each divisor, and what lies where its quotients change."""
    all_of_it = np.arange(np.iinfo(dtype).min, np.iinfo(dtype).max + 1)
    y = all_of_it[:, None]
    if all_of_it.size == 256:
        x, y = np.broadcast_arrays(all_of_it, y)
    else:
        most = np.iinfo(dtype).max // np.maximum(1, np.abs(y))
        few = np.broadcast_to(np.arange(6), (len(y), 6))
        times = np.concatenate([few, most, most - 1], 1)
        x = (times[:, :, None] * y[:, :, None] + [-1, 0, 1]).reshape(len(y), -1)
        x = np.concatenate([x, -x], 1)
        y = np.broadcast_to(y, x.shape)
    x, y = x.astype(dtype), y.astype(dtype)
    there, beside = cupola.to_device(x), cupola.to_device(y)
    with np.errstate(divide="ignore", over="ignore"):
        for ufunc in (np.floor_divide, np.remainder, np.fmod):
            assert_same(ufunc(there, beside), ufunc(x, y))
            assert_same(ufunc(there[::-1], beside[::-1]), ufunc(x, y)[::-1])


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_powers_of_integers(driver, dtype):
    """Of bytes all pairs; of others a few numbers, to each power of which that many bits tell."""
    most = int(np.iinfo(dtype).max)
    y = np.arange(min(most, 70000) + 1, dtype=np.uint64)
    if most > 255:
        x = [-3, -2, -1, 0, 1, 2, 3, 6, 255, 257, 12345, 65535, most, most - 1, most // 3]
        x = np.array([value % 2**64 for value in x], np.uint64)
        y = np.concatenate([y, most - y[:100]])
    else:
        x = np.arange(np.iinfo(dtype).min, most + 1)
    x, y = (a.ravel().astype(dtype) for a in np.broadcast_arrays(x[:, None], y))
    there, beside = cupola.to_device(x), cupola.to_device(y)
    assert_same(there**beside, x**y)
    assert_same(there[::-1] ** beside[::-1], (x**y)[::-1])
