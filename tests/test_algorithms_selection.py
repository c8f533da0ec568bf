"""where, nonzero, masks, compress and extract, with NumPy as the reference."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from keys import PAIR, TYPES, arrays, elements
from working import refused

import cupola

quickly = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
NUMBERS = ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"]
# Around the ends of warps' items, of tiles, and of a warp of tiles.
LENGTHS = [0, 1, 31, 32, 511, 513, 2048, 2049, 4095, 4097, 40_001, 4096 * 34 + 1]


def same(found, expected):
    assert type(found) is cupola.Array
    assert found.dtype == expected.dtype and found.shape == expected.shape
    np.testing.assert_array_equal(found.get(), expected)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("share", [0, 0.001, 0.3, 1])
def test_masks_of_each_length_and_density(driver, n, share):
    random = np.random.default_rng(n)
    mask, host = random.random(n) < share, random.random(n).astype("f4")
    there, flags = cupola.to_device(host), cupola.to_device(mask)
    same(there[flags], host[mask])
    same(cupola.flatnonzero(flags), np.flatnonzero(mask))
    host[mask] = np.arange(np.count_nonzero(mask))
    there[flags] = cupola.arange(np.count_nonzero(mask), dtype="f4")
    same(there, host)
    host[mask] = 5
    there[flags] = 5
    same(there, host)


@pytest.mark.parametrize("dtype", ["?", "f2", "f4", "f8", "c16", "S5", PAIR])
def test_masks_of_elements_of_each_size(driver, dtype):
    for n in (3, 2048, 5000):
        host, mask = elements((n,), dtype), np.random.default_rng(n).random(n) < 0.4
        there, flags = cupola.to_device(np.repeat(host, 2))[::2], cupola.to_device(mask)
        same(there[flags], host[mask])
        there[flags] = host[0]
        host[mask] = host[0].copy()
        same(there, host)


@quickly
@given(data=st.data())
def test_fills_by_masks_of_the_first_axes(driver, data):
    host, there = data.draw(arrays())
    host = host.copy()
    axes = data.draw(st.integers(1, host.ndim))
    mask = np.random.default_rng(axes).random(host.shape[:axes]) < 0.5
    value = elements((1,), host.dtype, 8)[0]
    host[mask] = value
    there[cupola.to_device(mask)] = value
    same(there, host)


@quickly
@given(data=st.data())
def test_nonzero(driver, data):
    host, there = data.draw(arrays(NUMBERS))
    host = host.copy()
    host[np.random.default_rng(1).random(host.shape) < 0.5] = 0
    there[...] = host
    expected, found = np.nonzero(host), np.nonzero(there)
    assert len(found) == len(expected) and type(found) is tuple
    for one, other in zip(found, expected, strict=True):
        same(one, other)
    for one, other in zip(np.where(there), expected, strict=True):
        same(one, other)
    same(np.argwhere(there), np.argwhere(host))
    same(np.flatnonzero(there), np.flatnonzero(host))
    axis = data.draw(st.one_of(st.none(), st.integers(-host.ndim, host.ndim - 1)))
    same(np.count_nonzero(there, axis), np.asarray(np.count_nonzero(host, axis)))


def test_what_is_not_zero(driver):
    host = np.array([0.0, -0.0, np.nan, np.inf, 1e-45, -1])
    for dtype in ("f4", "f8", "c8"):
        same(cupola.flatnonzero(cupola.to_device(host.astype(dtype))),
             np.flatnonzero(host.astype(dtype)))  # fmt: skip
    same(cupola.argwhere(cupola.array(3)), np.argwhere(3))


@quickly
@given(data=st.data())
def test_where_of_three(driver, data):
    shape = tuple(data.draw(st.lists(st.integers(0, 4), max_size=3)))

    def operand(dtypes, seed):
        own = [1 if data.draw(st.integers(0, 4)) == 0 else n for n in shape]
        own = tuple(own[data.draw(st.integers(0, len(own))) :])
        host = elements(own, data.draw(st.sampled_from(dtypes)), seed)
        there = cupola.to_device(host)
        if data.draw(st.booleans()):
            there = cupola.to_device(host.T.copy()).T
        return host, there

    condition, flags = operand(["?", "?", "i4", "f4"], 1)
    x, there = operand(NUMBERS, 2)
    if data.draw(st.booleans()):
        y = other = data.draw(st.sampled_from([True, 3, 2.5, 1j, np.float32(3), np.int64(7)]))
    else:
        y, other = operand(NUMBERS, 3)
    same(np.where(flags, there, other), np.where(condition, x, y))
    same(np.where(flags, other, there), np.where(condition, y, x))


def test_where_moves_any_dtype(driver):
    for dtype in TYPES:
        for n in (0, 1, 5, 3000):
            x, y = elements((n,), dtype, 1), elements((n,), dtype, 2)
            mask = np.random.default_rng(n).random(n) < 0.5
            on = [cupola.to_device(one) for one in (mask, x, y)]
            same(cupola.where(*on), np.where(mask, x, y))
            if n:
                same(cupola.where(on[0], on[1][:1], on[2]), np.where(mask, x[:1], y))


def test_where_of_numbers(driver):
    mask = cupola.array([True, False])
    same(cupola.where(mask, 1, 2.5), np.where(mask.get(), 1, 2.5))
    same(cupola.where(mask, np.nan, cupola.array([1, 2], "f4")), np.array([np.nan, 2], "f4"))
    same(cupola.where(True, cupola.array([1, 2]), 0), np.array([1, 2]))
    with refused(cupola.ArgumentError, ValueError, saying="out of the range of int8"):
        cupola.where(mask, cupola.array([1, 2], "i1"), 1000)


@quickly
@given(data=st.data())
def test_compress_and_extract(driver, data):
    host, there = data.draw(arrays())
    axis = data.draw(st.one_of(st.none(), st.integers(-host.ndim, host.ndim - 1)))
    length = host.size if axis is None else host.shape[axis]
    n = length if data.draw(st.booleans()) else data.draw(st.integers(0, length))
    condition = np.random.default_rng(n).random(n) < 0.5
    placed = cupola.to_device(condition) if data.draw(st.booleans()) else condition
    expected = np.compress(condition, host, axis)
    same(np.compress(placed, there, axis), expected)
    out = cupola.to_device(np.zeros_like(expected))
    assert cupola.compress(placed, there, axis, out) is out
    same(out, expected)
    mask = np.random.default_rng(n).random(host.shape) < 0.5
    same(np.extract(cupola.to_device(mask), there), np.extract(mask, host))


def test_wrong_arguments(driver):
    x = cupola.zeros((3, 4))
    for call, words in [
        (lambda: cupola.where(x, x), "where: give both"),
        (lambda: cupola.where(x, x, [1]), "where: argument y: expected an array of a device"),
        (lambda: cupola.where(x, np.zeros(4), x), "cupola.to_device(x)"),
        (lambda: cupola.where(np.zeros(3), x, x), "where: argument condition"),
        (lambda: cupola.where(x, cupola.zeros(3), x), "(3, 4), (3,), (3, 4)"),
        (lambda: cupola.where(x, cupola.zeros(1, PAIR), x), "common"),
        (lambda: cupola.nonzero(cupola.array(1)), "cupola.atleast_1d"),
        (lambda: cupola.nonzero([1]), "nonzero: argument a"),
        (lambda: cupola.nonzero(cupola.zeros(3, "S3")), "|S3"),
        (lambda: cupola.compress([[True]], x), "compress: argument condition has 2 axes"),
        (lambda: cupola.compress([True], x, 2), "compress: argument axis: 2"),
    ]:
        with refused(cupola.ArgumentError, saying=words):
            call()
    with pytest.raises(IndexError, match="compress: index 4"):
        cupola.compress([0, 0, 0, 0, 1], x, 1)


def test_what_waits_is_refused_in_a_capture(driver):
    stream = cupola.Stream()
    x = cupola.array([1.0, 0, 3])
    mask = x > 0
    for call, remedy in [
        (lambda: cupola.nonzero(x), "cupola.cumsum(mask)"),
        (lambda: x[mask], "cupola.where"),
        (lambda: cupola.compress(mask, x), "cupola.where"),
    ]:
        words = ("captured", remedy)
        with refused(cupola.ArgumentValueError, saying=words), stream.capture():
            call()
    with stream.capture() as graph:
        kept = cupola.where(mask, x, 9)
        x[mask] = -1
        count = cupola.count_nonzero(x)
    made = graph.instantiate()
    mask.set(np.array([False, True, True]))
    made.launch()
    same(kept, np.array([9.0, 0, 3]))
    same(x, np.array([1.0, -1, -1]))
    assert count.item() == 3


@pytest.mark.parametrize("dtype", ["u1", "f2", "f4", "f8", "c16", "S3"])
def test_where_of_any_length_and_alignment(driver, dtype):
    rng, size = np.random.default_rng(0), np.dtype(dtype).itemsize
    for n in (1, 5, 64, 4097):
        x, y = [row[: n * size].view(dtype) for row in rng.integers(1, 60, (2, n * 16), np.uint8)]
        mask = rng.random(n) > 0.5
        there = [cupola.to_device(each) for each in (mask, x, y)]
        for first in range(min(n, 2)):  # the second begins apart from 16 bytes
            condition, one, other = [each[first:] for each in there]
            expected = np.where(mask[first:], x[first:], y[first:])
            assert np.where(condition, one, other).get().tobytes() == expected.tobytes()
            expected = np.where(mask[first:], x[first:], y[:1])
            assert np.where(condition, one, there[2][:1]).get().tobytes() == expected.tobytes()
