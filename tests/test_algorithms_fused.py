"""`clip`, `isclose` and triangles: one kernel for each call, with NumPy as the reference."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_algorithms_joins import same

import cupola

quickly = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
FLOATS = ["f2", "f4", "f8"]
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, 1.00001, 1.0002, 65504.0, -3.0, 1e-7]
# Views of a line of 70 elements: aligned and not, reversed, with a step, of one element and none.
VIEWS = [
    slice(None), slice(1, None), slice(4, 68), slice(None, None, -1), slice(None, None, 3),
    slice(2, 3), slice(5, 5), slice(0, 17),
]  # fmt: skip


def line(dtype, seed):
    """70 elements, many of them special or at the ends of the range."""
    rng = np.random.default_rng(seed)
    if dtype[0] == "f":
        with np.errstate(over="ignore"):
            return rng.choice(SPECIAL, 70).astype(dtype)
    limits = np.iinfo(dtype)
    ends = [limits.min, limits.max, 0, 1, 3, limits.max - 1]
    return np.array([ends[k] for k in rng.integers(0, len(ends), 70)], dtype)


def pair(host):
    return host, cupola.to_device(host)


@quickly
@given(data=st.data())
def test_clip_between_numbers_and_arrays(driver, data):
    dtype = data.draw(st.sampled_from(INTEGERS + FLOATS))
    view = data.draw(st.sampled_from(VIEWS))
    host, there = pair(line(dtype, data.draw(st.integers(0, 9))))
    limits, moved = [], []
    for seed in (10, 11):
        kind = data.draw(st.sampled_from(["number", "scalar", "array", "one"]))
        one, other = pair(line(dtype, seed))
        if kind == "array":
            limits.append(one[view]), moved.append(other[view])
        elif kind == "one":
            limits.append(one[3:4]), moved.append(other[3:4])
        else:
            value = one[5] if kind == "scalar" else one[5].item()
            limits.append(value), moved.append(value)
    expected = np.clip(host[view], *limits)
    same(np.clip(there[view], *moved), expected)
    out = cupola.empty(expected.shape, expected.dtype)
    assert np.clip(there[view], *moved, out=out) is out
    same(out, expected)


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
def test_clip_takes_another_type_than_the_elements(driver, dtype):
    host, there = pair(line(dtype, 1))
    for low, high in [(0.5, 2), (np.float64(0.5), 2.5), (np.int8(1), np.int64(2)), (True, 2)]:
        same(np.clip(there, low, high), np.clip(host, low, high))


@pytest.mark.parametrize("dtype", ["i4", "f4"])
def test_clip_writes_in_place_and_over_its_operands(driver, dtype):
    host, there = pair(line(dtype, 2))
    low, high = line(dtype, 3), line(dtype, 4)
    expected = np.clip(host, low, high)
    moved = cupola.to_device(low), cupola.to_device(high)
    assert there.clip(*moved, out=there) is there
    same(there, expected)
    there = cupola.to_device(host)
    np.clip(there, *moved, out=moved[1])
    same(moved[1], expected)
    there = cupola.to_device(host)  # the output begins behind the input
    np.clip(there[:-1], 0, 2, out=there[1:])
    same(there[1:], np.clip(host[:-1], 0, 2))
    out = cupola.zeros(70, "f8")
    if dtype == "f4":
        np.clip(there, 0, 2, out=out)
        same(out, np.clip(there.get(), 0, 2).astype("f8"))


def test_clip_of_a_matrix_and_of_no_axes(driver):
    host, there = pair(line("f4", 5).reshape(7, 10))
    for one, other in ((host, there), (host.T, there.T), (host[0, 0:1].reshape(()), there[0, 0])):
        same(np.clip(other, -1, 1), np.clip(one, -1, 1))
    row, moved = pair(line("f4", 6)[:10])
    same(np.clip(there, moved, 9), np.clip(host, row, 9))


@quickly
@given(data=st.data())
def test_isclose(driver, data):
    first, second = [data.draw(st.sampled_from(FLOATS + ["i4", "u1"])) for _ in range(2)]
    view = data.draw(st.sampled_from(VIEWS))
    (x, one), (y, other) = pair(line(first, 7)), pair(line(second, 8))
    x, one, y, other = x[view], one[view], y[view], other[view]
    kind = data.draw(st.sampled_from(["arrays", "number", "first", "one", "grid"]))
    number = data.draw(st.sampled_from([0.0, 1.0, 3, np.inf, np.nan, 1.00001]))
    if kind == "number":
        y = other = number
    elif kind == "first":
        x = one = number
    elif kind == "one":
        y, other = y[:1], other[:1]
    elif kind == "grid":
        x, one = x[:, None], one[:, None]
    named = {
        "rtol": data.draw(st.sampled_from([1e-5, 0, 1e-3, 1.0, np.inf])),
        "atol": data.draw(st.sampled_from([1e-8, 0.0, 1e-4, np.inf])),
        "equal_nan": data.draw(st.booleans()),
    }
    with np.errstate(all="ignore"):
        expected = np.isclose(x, y, **named)
    same(np.isclose(one, other, **named), expected)
    assert cupola.allclose(one, other, **named) == bool(expected.all())


@pytest.mark.parametrize("dtype", FLOATS)
def test_isclose_rounds_each_operation(driver, dtype):
    rng = np.random.default_rng(3)
    x, one = pair(rng.normal(1, 1, 4000).astype(dtype))
    y, other = pair((x * (1 + rng.normal(0, 1e-5, 4000))).astype(dtype))
    for rtol, atol in [(1e-5, 1e-8), (9.5e-6, 1e-6), (1e-3, 0.0)]:
        named = {"rtol": rtol, "atol": atol}
        same(np.isclose(one, other, **named), np.isclose(x, y, **named))


def test_isclose_takes_complex_numbers_and_bounds_that_are_arrays(driver):
    x, one = pair(np.array([1 + 1j, np.nan, 3], "c16"))
    y, other = pair(np.array([1 + 1.000001j, np.nan, 4], "c16"))
    same(np.isclose(one, other, equal_nan=True), np.isclose(x, y, equal_nan=True))
    x, one = pair(np.array([1.0, 2, 3]))
    bound, moved = pair(np.array([0.0, 1, 0.5]))
    same(cupola.isclose(one, one + 0.7, atol=moved), np.isclose(x, x + 0.7, atol=bound))


@quickly
@given(data=st.data())
def test_triangles(driver, data):
    dtype = data.draw(st.sampled_from(["?", "i2", "f4", "f8", "c16", [("a", "u1"), ("b", "u2")]]))
    rows, columns = [data.draw(st.sampled_from([1, 2, 5, 16, 33, 64])) for _ in range(2)]
    stack = data.draw(st.sampled_from([(), (3,), (2, 2), (0,)]))
    size = int(np.prod([*stack, rows, columns]))
    dtype = np.dtype(dtype)
    rng = np.random.default_rng(size)
    elements = rng.integers(0, 2, (size + 1) * dtype.itemsize).astype(np.uint8).view(dtype)
    host, there = pair(elements)
    skip = data.draw(st.sampled_from([0, 1]))
    shape = (*stack, rows, columns)
    host, there = [one[skip : skip + size].reshape(shape) for one in (host, there)]
    view = data.draw(st.sampled_from(["whole", "T", "reversed", "step"]))
    if view == "T":
        host, there = host.swapaxes(-1, -2), there.swapaxes(-1, -2)
    elif view == "reversed":
        host, there = host[..., ::-1, :], there[..., ::-1, :]
    elif view == "step":
        host, there = host[..., ::2], there[..., ::2]
    k = data.draw(st.sampled_from([0, 1, -1, 4, -7, 40, -40, 2**80, -(2**80)]))
    known = min(max(k, -100), 100)
    kept = host.copy()
    for function in ("tril", "triu"):
        mask = np.tri(*host.shape[-2:], known if function == "tril" else known - 1, dtype=bool)
        if function == "triu":
            mask = ~mask
        expected = np.where(mask, host, np.zeros((), host.dtype))
        found = getattr(cupola, function)(there, k)
        assert found.get().tobytes() == expected.tobytes()
        assert found.flags.writeable and found.flags.c_contiguous
    assert there.get().tobytes() == kept.tobytes()


def test_triangles_of_a_line(driver):
    host, there = pair(np.arange(1.0, 6))
    same(np.tril(there), np.tril(host))
    same(np.triu(there, 1), np.triu(host, 1))


@pytest.mark.parametrize("dtype", ["?", "i2", "f4", "f8", "c16"])
@pytest.mark.parametrize("part", [0.0, 0.05, 0.5, 1.0])
def test_a_mask_sets_the_elements_where_it_is_true_alone(driver, dtype, part):
    rng = np.random.default_rng(4)
    host = rng.integers(0, 2, 3001).astype(dtype)
    mask = rng.random(3001) < part
    for view in (slice(None), slice(1, None), slice(16, 2000)):
        there = cupola.to_device(host)
        expected = host.copy()
        there[view][cupola.to_device(mask)[view]] = 1
        expected[view][mask[view]] = 1
        same(there, expected)
