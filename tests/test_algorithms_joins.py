"""Joins, splits, repetitions, shifts, borders and views of arrays, with NumPy as the reference."""

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
NUMBERS = ["?", "i1", "u2", "i8", "f2", "f4", "f8", "c8"]


def same(found, expected):
    assert type(found) is cupola.Array
    assert found.dtype == expected.dtype and found.shape == expected.shape
    np.testing.assert_array_equal(found.get(), expected)


def both(function, host, there, *args, **kwargs):
    """NumPy's function on both, and cupola's own of its name."""
    expected = function(host, *args, **kwargs)
    for found in (
        function(there, *args, **kwargs),
        getattr(cupola, function.__name__)(there, *args, **kwargs),
    ):
        if isinstance(expected, (list, tuple)):
            assert type(found) is type(expected) and len(found) == len(expected)
            for one, other in zip(found, expected, strict=True):
                same(one, other)
        else:
            same(found, expected)


@quickly
@given(data=st.data())
def test_concatenate(driver, data):
    shape = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=3))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    hosts, placed = [], []
    for k in range(data.draw(st.integers(1, 4))):
        shape[axis] = data.draw(st.integers(0, 4))
        hosts.append(elements(tuple(shape), data.draw(st.sampled_from(NUMBERS)), k))
        placed.append(cupola.to_device(np.ascontiguousarray(hosts[-1].T)).T)
    both(np.concatenate, hosts, placed, axis)
    both(np.concatenate, hosts, placed, axis=None)
    both(np.concatenate, hosts, placed, axis, dtype="c16")
    expected = np.concatenate(hosts, axis)
    out = cupola.zeros(expected.shape, "c16")
    assert cupola.concatenate(placed, axis, out) is out
    same(out, expected.astype("c16"))


@pytest.mark.parametrize("shapes", [[()], [(3,)] * 2, [(2, 3)] * 3, [(2, 3, 4)] * 2, [(0, 2)] * 2])
@pytest.mark.parametrize("dtype", ["f4", PAIR])
def test_stacks(driver, shapes, dtype):
    hosts = [elements(shape, dtype, k) for k, shape in enumerate(shapes)]
    placed = [cupola.to_device(one) for one in hosts]
    for axis in range(-len(shapes[0]) - 1, len(shapes[0]) + 1):
        both(np.stack, hosts, placed, axis)
    for function in (np.vstack, np.hstack, np.dstack, np.column_stack):
        both(function, hosts, placed)
    if shapes[0]:
        whole, there = np.stack(hosts), cupola.stack(placed)
        both(np.concatenate, whole, there)
        both(np.vstack, whole, there)
    same(np.append(placed[0], placed[-1]), np.append(hosts[0], hosts[-1]))
    if hosts[0].ndim:
        same(np.append(placed[0], placed[-1], 0), np.append(hosts[0], hosts[-1], 0))


@quickly
@given(data=st.data())
def test_splits(driver, data):
    host, there = data.draw(arrays(["f4"], 3, 7))
    axis = data.draw(st.integers(-host.ndim, host.ndim - 1))
    count = data.draw(st.integers(1, 9))
    both(np.array_split, host, there, count, axis)
    cuts = data.draw(st.lists(st.integers(-9, 9), max_size=3))
    both(np.split, host, there, cuts, axis)
    both(np.hsplit, host, there, cuts)
    if host.ndim > 1:
        both(np.vsplit, host, there, cuts)
    if host.ndim > 2:
        both(np.dsplit, host, there, cuts)
    if host.shape[axis] % count == 0:
        both(np.split, host, there, count, axis)


@quickly
@given(data=st.data())
def test_repeat_and_tile(driver, data):
    host, there = data.draw(arrays(TYPES, 3))
    axis = data.draw(st.one_of(st.none(), st.integers(-host.ndim, host.ndim - 1)))
    length = host.size if axis is None else host.shape[axis]
    both(np.repeat, host, there, data.draw(st.integers(0, 3)), axis)
    counts = data.draw(st.lists(st.integers(0, 4), min_size=length, max_size=length))
    if length != 1:
        expected = np.repeat(host, counts, axis)
        for placed in (counts, np.array(counts, "i4"), cupola.to_device(np.array(counts, "i8"))):
            same(np.repeat(there, placed, axis), expected)
    both(np.tile, host, there, data.draw(st.integers(0, 3)))
    both(np.tile, host, there, tuple(data.draw(st.lists(st.integers(0, 3), max_size=4))))


@quickly
@given(data=st.data())
def test_shifts_and_turns(driver, data):
    host, there = data.draw(arrays(TYPES, 3))
    axes = st.integers(-host.ndim, host.ndim - 1)
    some = st.lists(st.integers(0, host.ndim - 1), unique=True, max_size=3).map(tuple)
    both(np.roll, host, there, data.draw(st.integers(-12, 12)), data.draw(st.none() | axes))
    chosen = data.draw(st.lists(axes, min_size=1, max_size=3).map(tuple))
    shifts = tuple(data.draw(st.integers(-6, 6)) for _ in chosen)
    both(np.roll, host, there, shifts, chosen)
    both(np.roll, host, there, 2, chosen)
    both(np.flip, host, there, data.draw(st.one_of(st.none(), axes, some)))
    both(np.flipud, host, there)
    if host.ndim > 1:
        both(np.fliplr, host, there)
        both(np.rot90, host, there, data.draw(st.integers(-5, 5)))
        both(np.rot90, host, there, 1, (1, 0))
        both(np.swapaxes, host, there, data.draw(axes), data.draw(axes))
    both(np.moveaxis, host, there, data.draw(axes), data.draw(axes))
    both(np.moveaxis, host, there, list(range(host.ndim)), list(range(host.ndim))[::-1])
    both(np.rollaxis, host, there, data.draw(axes), data.draw(st.integers(-host.ndim, host.ndim)))


@quickly
@given(data=st.data())
def test_views_with_other_axes(driver, data):
    host, there = data.draw(arrays(["i4"], 3, 2))
    both(np.squeeze, host, there)
    ones = [axis for axis, length in enumerate(host.shape) if length == 1]
    both(np.squeeze, host, there, tuple(ones))
    both(np.expand_dims, host, there, data.draw(st.integers(-host.ndim - 1, host.ndim)))
    both(np.expand_dims, host, there, (0, -1))
    for function in (np.atleast_1d, np.atleast_2d, np.atleast_3d):
        both(function, host, there)
        same(
            function(there[(0,) * host.ndim]), function(host[(0,) * host.ndim])
        ) if host.size else 0
    shape = (2, *[3 if length == 1 else length for length in host.shape])
    both(np.broadcast_to, host, there, shape)
    for one, other in zip(
        np.broadcast_arrays(there, cupola.zeros(shape)),
        np.broadcast_arrays(host, np.zeros(shape)),
        strict=True,
    ):
        same(one, other)


def test_broadcast_views_are_read_only(driver):
    view = cupola.broadcast_to(cupola.arange(3), (4, 3))
    assert not view.flags.writeable
    with refused(cupola.ArgumentError, ValueError, saying="read-only"):
        view[0] = 1
    same(view + 1, np.broadcast_to(np.arange(3), (4, 3)) + 1)


@quickly
@given(data=st.data())
def test_pad(driver, data):
    host, there = data.draw(arrays(["i2", "f4", PAIR], 3, 4))
    widths = tuple(
        (data.draw(st.integers(0, 9)), data.draw(st.integers(0, 9))) if length else (0, 0)
        for length in host.shape
    )
    mode = data.draw(st.sampled_from(["edge", "reflect", "symmetric", "wrap"]))
    both(np.pad, host, there, widths, mode)
    if host.dtype.names is None:
        both(np.pad, host, there, widths)
        both(np.pad, host, there, widths, "constant", constant_values=7)
        values = tuple((k, -k) for k in range(host.ndim))
        both(np.pad, host, there, widths, "constant", constant_values=values)
        both(np.pad, host, there, 2, "constant", constant_values=(1, 3))
        both(np.pad, host, there, {0: (1, 2), -1: 3})
    empty = np.pad(there, widths, "empty")
    inner = tuple(slice(b, b + n) for (b, _), n in zip(widths, host.shape, strict=True))
    same(empty[inner], host)


COMPUTED = ["linear_ramp", "maximum", "mean", "median", "minimum"]


@quickly
@given(data=st.data())
def test_pad_with_computed_values(driver, data):
    dtype = data.draw(st.sampled_from(["?", "i2", "u1", "i8", "f4", "f8", "c16"]))
    mode = data.draw(st.sampled_from(COMPUTED[:3] if dtype == "c16" else COMPUTED))
    mode = "mean" if dtype == "?" and mode in ("linear_ramp", "median") else mode
    shape = tuple(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    host = random.integers(0, 2 if dtype == "?" else 99, shape).astype(dtype)
    widths = tuple((random.integers(0, 6), random.integers(0, 6)) for _ in shape)
    options = {}
    if mode == "linear_ramp":
        ends = [0, 3, ((5, 70),), tuple((k, 9) for k in range(host.ndim))]
        options["end_values"] = data.draw(st.sampled_from(ends))
    elif data.draw(st.booleans()):
        lengths = [1, 2, 50, ((1, 3),)]
        options["stat_length"] = data.draw(st.sampled_from(lengths))
    expected = np.pad(host, widths, mode, **options)
    found = np.pad(cupola.to_device(host), widths, mode, **options)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if host.dtype.kind in "fc":
        np.testing.assert_allclose(found.get(), expected, rtol=1e-5, atol=1e-5)
    else:
        np.testing.assert_array_equal(found.get(), expected)


def test_insert(driver):
    host = np.arange(24).reshape(4, 6)
    there = cupola.to_device(host)
    for obj, values, axis in [
        (1, 99, 0), (1, [1.5, 2, 3, 4], 1), (-1, [[1], [2]], 0), ([1, 3], 99, 0),
        ([3, 1], [[7], [8]], 0), ([0, 0, 6], [1, 2, 3], 1), (slice(1, 5, 2), 99, 1),
        (slice(2, 3), [[5]], 1), ([2, 20], 1, None),
        (np.array([True, False, True, False]), 99, 0), ([1], [[1], [2], [3], [4]], 1), ([], 0, 0),
        (24, [1, 2, 3], None), ([4], 7, 0),
    ]:  # fmt: skip
        both(np.insert, host, there, obj, values, axis)
    values = cupola.to_device(np.array([1.0, 2.0], "f4"))
    same(np.insert(there, [1, 5], values), np.insert(host, [1, 5], [1, 2]))
    pairs = np.zeros(3, PAIR)
    same(np.insert(cupola.to_device(pairs), 1, pairs[:2]), np.insert(pairs, 1, pairs[:2]))
    for call, words in [
        (lambda: cupola.insert(there, 5, 1, 0), "out of bounds"),
        (lambda: cupola.insert(there, [1, 2], [1, 2, 3], 1), "insert: "),
        (lambda: cupola.insert(there, 0, [[[1]]], 0), "3 axes, the array 2"),
        (lambda: cupola.insert(there, there[0], 1, 0), "obj.get()"),
        (lambda: cupola.insert(there, 0, 1, 2), "insert: argument axis"),
    ]:
        with refused(cupola.ArgumentError, saying=words):
            call()


def test_delete(driver):
    host = np.arange(24).reshape(4, 6)
    there = cupola.to_device(host)
    for obj, axis in [(1, 0), (-1, 1), ([0, 3, 3], 1), (slice(1, 5, 2), 1), ([2, 20], None),
                      (np.array([True, False, True, False]), 0), ([], 0)]:  # fmt: skip
        both(np.delete, host, there, obj, axis)


def test_long_arrays(driver):
    host = np.arange(100_003, dtype="i4")
    there = cupola.to_device(host)
    both(np.roll, host, there, 12_345)
    both(np.pad, host, there, 70_000, "reflect")
    counts = np.arange(100_003) % 3
    same(cupola.repeat(there, counts), np.repeat(host, counts))
    same(cupola.concatenate([there] * 3), np.concatenate([host] * 3))


def test_wrong_arguments(driver):
    x, y = cupola.zeros((2, 3)), cupola.zeros((2, 4))
    for call, words in [
        (lambda: cupola.concatenate([x, y]), "concatenate: the arrays must have equal shapes"),
        (lambda: cupola.concatenate([x, np.zeros((2, 3))]), "concatenate: argument arrays[1]"),
        (lambda: np.concatenate([np.zeros((2, 3)), x]), "concatenate: argument arrays[0]"),
        (lambda: cupola.concatenate([]), "at least one array"),
        (lambda: cupola.concatenate(3), "expected a sequence of arrays"),
        (lambda: cupola.concatenate([x], 2), "concatenate: argument axis: 2"),
        (lambda: cupola.concatenate([x, x], dtype="i4"), "'same_kind'"),
        (lambda: cupola.concatenate([x, x], out=x), "argument out has the shape"),
        (lambda: cupola.concatenate([x, x], out=x, dtype="f8"), "either out or dtype"),
        (lambda: cupola.concatenate([x[0, 0]]), "cupola.stack"),
        (lambda: cupola.stack([x, y]), "stack: the arrays must have equal shapes"),
        (lambda: cupola.split(x, 2, 1), "cupola.array_split"),
        (lambda: cupola.array_split(x, 0), "at least one part"),
        (lambda: cupola.array_split(x, 1.5), "argument indices_or_sections"),
        (lambda: cupola.vsplit(x[0], 1), "vsplit: argument ary has 1 axes"),
        (lambda: cupola.repeat(x, [1, 2, 3], 0), "repeat: argument repeats has the shape"),
        (lambda: cupola.repeat(x, -1), "negative"),
        (lambda: cupola.repeat(x, 1.5), "repeat: argument repeats"),
        (lambda: cupola.tile(x, (1, -2)), "tile: argument reps"),
        (lambda: cupola.roll(x, (1, 2, 3), (0, 1)), "roll: 3 numbers"),
        (lambda: cupola.fliplr(x[0]), "fliplr: argument axis: 1"),
        (lambda: cupola.rot90(x, axes=(0, 0)), "rot90: argument axis names an axis twice"),
        (lambda: cupola.pad(x, 1, "ramp"), "pad: argument mode is one of"),
        (lambda: cupola.pad(x, 1, lambda *_: None), "functions are not supported"),
        (lambda: cupola.pad(x, 1, "mean", stat_length=0), "stat_length: expected at least 1"),
        (lambda: cupola.pad(x, 1, "mean", end_values=0), "takes no argument end_values"),
        (lambda: cupola.pad(x[:0], 1, "minimum"), "pad: axis 0 has no elements"),
        (lambda: cupola.pad(x, 1, "reflect", reflect_type="odd"), "only 'even'"),
        (lambda: cupola.pad(x, -1), "pad: argument pad_width is negative"),
        (lambda: cupola.pad(x, [[1, 2, 3]]), "pad: argument pad_width"),
        (lambda: cupola.pad(x[:0], 1, "edge"), "pad: axis 0 has no elements"),
        (lambda: cupola.pad(x, 1, "edge", constant_values=1), "takes no argument constant_values"),
        (lambda: cupola.broadcast_to(x, (3, 3)), "can't be broadcast to shape (3, 3)"),
        (lambda: cupola.broadcast_arrays(x, y), "(2, 3), (2, 4)"),
        (lambda: cupola.moveaxis(x, (0, 1), 0), "moveaxis: 2 axes in source"),
        (lambda: cupola.squeeze(x, 0), "squeeze: argument axis names axis 0"),
        (lambda: cupola.expand_dims(x, 4), "expand_dims: argument axis: 4"),
        (lambda: cupola.delete(x, cupola.array([0])), "obj.get()"),
    ]:
        with refused(cupola.ArgumentError, saying=words):
            call()
    with pytest.raises(IndexError):
        cupola.delete(x, 9, 0)
