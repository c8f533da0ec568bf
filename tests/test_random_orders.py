"""cupola.random's permutations, shuffles and choices."""

import itertools

import numpy as np
import pytest
from goodness_of_fit import chi_square
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cupola
from cupola.exceptions import ArgumentTypeError, ArgumentValueError

random = cupola.random
quickly = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@quickly
@given(st.one_of(st.integers(0, 5), st.integers(250, 5000)))
def test_permutations_have_each_number_once(driver, n):
    order = random.default_rng(n).permutation(n)
    assert order.dtype == np.int64
    np.testing.assert_array_equal(np.sort(order.get()), np.arange(n))
    if n > 200:
        assert (order.get() == np.arange(n)).sum() < 12
    np.testing.assert_array_equal(order.get(), random.default_rng(n).permutation(n).get())


def test_all_orders_of_four_are_equally_frequent(driver):
    """By the rows of `permuted`, which are orders of their own."""
    rows = cupola.to_device(np.tile(np.arange(4, dtype=np.int8), (4800, 1)))
    made = random.default_rng(9).permuted(rows, axis=1).get()
    numbers = made @ np.array([64, 16, 4, 1])
    orders = [np.dot(order, [64, 16, 4, 1]) for order in itertools.permutations(range(4))]
    assert chi_square([(numbers == one).sum() for one in orders], np.full(24, 200)) < 4
    assert abs(np.corrcoef(numbers[1:], numbers[:-1])[0, 1]) < 0.06


def test_places_of_a_permutation_are_uniform(driver):
    rng = random.default_rng(10)
    orders = np.array([rng.permutation(1000).get() for _ in range(60)])
    tenths = np.bincount(orders[:, :100].ravel() // 50, minlength=20)
    assert abs(chi_square(tenths, np.full(20, 300))) < 4


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", ["f4", "u1", "c16", [("a", "i2"), ("b", "f4")]])
def test_parts_stay_together(driver, axis, dtype):
    x = np.arange(7 * 30 * 2).reshape(7, 30, 2).astype(dtype)
    array = cupola.to_device(x)
    made = random.default_rng(3).permutation(array, axis).get()
    order = random.default_rng(3).permutation(x.shape[axis]).get()
    np.testing.assert_array_equal(made, np.take(x, order, axis))
    random.default_rng(3).shuffle(array, axis)
    np.testing.assert_array_equal(array.get(), made)
    strided = cupola.to_device(np.repeat(x, 2, 1))[:, ::2]
    random.default_rng(3).shuffle(strided, axis)
    np.testing.assert_array_equal(strided.get(), made)


@pytest.mark.parametrize("axis", [None, 0, 1, 2, -2])
def test_rows_are_permuted_by_themselves(driver, axis):
    x = np.arange(5 * 40 * 3).reshape(5, 40, 3)
    array = cupola.to_device(x)
    made = random.default_rng(4).permuted(array, axis)
    assert made.shape == x.shape and made.dtype == x.dtype
    assert (made.get() != x).any()
    if axis is None:
        np.testing.assert_array_equal(np.sort(made.get(), None), x.ravel())
    else:
        np.testing.assert_array_equal(np.sort(made.get(), axis), x)
        rows = np.moveaxis(made.get() - x.min(axis, keepdims=True), axis, -1).reshape(-1, 1)
        assert len(np.unique(rows.reshape(-1, x.shape[axis]), axis=0)) > 3
    out = cupola.zeros((5, 40, 6), np.int64)[:, :, ::2]
    assert random.default_rng(4).permuted(array, axis, out=out) is out
    np.testing.assert_array_equal(out.get(), made.get())
    random.default_rng(4).permuted(array, axis, out=array)
    np.testing.assert_array_equal(array.get(), made.get())


def test_choices_with_replacement(driver):
    rng = random.default_rng(5)
    assert rng.choice(7).shape == () and 0 <= rng.choice(7).item() < 7
    numbers = rng.choice(10, (100, 70)).get()
    assert chi_square(np.bincount(numbers.ravel(), minlength=10), np.full(10, 700)) < 4
    letters = cupola.to_device(np.arange(20).reshape(4, 5) * 10)
    made = rng.choice(letters, (2, 3), axis=1)
    assert made.shape == (4, 2, 3)
    np.testing.assert_array_equal(
        made.get() - made.get()[:1], (np.arange(4) * 50)[:, None, None] + 0 * made.get()
    )
    assert rng.choice(0, 0).shape == (0,)


def test_choices_by_probability(driver):
    rng = random.default_rng(6)
    p = np.array([0.5, 0, 0.3, 0.15, 0.05])
    for weights in (p, p.tolist(), cupola.to_device(p)):
        counts = np.bincount(rng.choice(5, 20000, p=weights).get(), minlength=5)
        assert counts[1] == 0
        assert chi_square(np.delete(counts, 1), np.delete(p, 1) * 20000) < 4
    p = np.arange(3001.0)
    p /= p.sum()
    assert abs(rng.choice(3001, 20000, p=p).get().mean() - 2000) < 20


def test_choices_without_replacement(driver):
    rng = random.default_rng(7)
    for n in (1, 5, 3000):
        chosen = rng.choice(n, n // 2 + 1, replace=False).get()
        assert len(np.unique(chosen)) == n // 2 + 1 and chosen.min() >= 0 and chosen.max() < n
    x = cupola.to_device(np.arange(100) * 3)
    chosen = rng.choice(x, (5, 4), replace=False).get()
    assert len(np.unique(chosen)) == 20 and (chosen % 3 == 0).all()
    # The second of two: p2 / (1 - p1), over both orders of the pair.
    p = np.array([0.5, 0.3, 0.2, 0])
    pairs = np.array([rng.choice(4, 2, replace=False, p=p).get() for _ in range(3000)])
    assert (pairs[:, 0] != pairs[:, 1]).all() and pairs.max() == 2
    expected = [p[i] * p[j] / (1 - p[i]) for i, j in itertools.permutations(range(3), 2)]
    found = [(pairs == pair).all(1).sum() for pair in itertools.permutations(range(3), 2)]
    assert chi_square(found, 3000 * np.array(expected)) < 4


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda r: r.permutation([1, 2]), ArgumentTypeError, "expected an int or a cupola.Array"),
        (lambda r: r.permutation(-1), ArgumentValueError, "x: expected at least 0"),
        (lambda r: r.permutation(cupola.zeros(())), ArgumentValueError, "an array with axes"),
        (lambda r: r.permutation(cupola.zeros(3), 1), ArgumentValueError, "axis: 1 is out of"),
        (lambda r: r.shuffle(np.zeros(3)), ArgumentTypeError, "shuffle: x: expected a cupola"),
        (lambda r: r.permuted([1, 2]), ArgumentTypeError, "permuted: x: expected a cupola"),
        (lambda r: r.choice(0), ArgumentValueError, "a has no elements"),
        (lambda r: r.choice(3, 4, replace=False), ArgumentValueError, "4 elements of a population"),
        (
            lambda r: r.choice(3, 3, replace=False, p=[0.5, 0.5, 0]),
            ArgumentValueError,
            "without replacement",
        ),
        (lambda r: r.choice(2, p=[0.5, 0.6]), ArgumentValueError, "expected the sum 1, got 1.1"),
        (lambda r: r.choice(2, p=[-0.5, 1.5]), ArgumentValueError, "at least 0, not NaN"),
        (lambda r: r.choice(2, p=[1.0]), ArgumentValueError, r"expected the shape \(2,\)"),
        (lambda r: r.choice(2, p="x"), ArgumentTypeError, "p: expected real numbers"),
        (lambda r: r.choice(2, 1.5), ArgumentTypeError, "size: expected an int"),
        (lambda r: r.choice("abc"), ArgumentTypeError, "a: expected an int or a cupola.Array"),
    ],
)
def test_errors(driver, call, error, text):
    with pytest.raises(error, match=text):
        call(random.default_rng(8))


def test_orders_are_made_while_a_stream_is_captured(driver):
    """Nothing waits: indices that are in range are not checked."""
    rng = random.default_rng(9)
    x = cupola.to_device(np.arange(50))
    stream = cupola.Stream(non_blocking=True)
    expected = random.default_rng(9).permutation(50).get()
    rng.permutation(x)
    rng.bit_generator.state = random.default_rng(9).bit_generator.state
    cupola.Device().synchronize()  # the stream does not wait for the array's own
    with stream, stream.capture() as graph:
        rng.shuffle(x)
    graph.instantiate().launch(stream)
    stream.synchronize()
    np.testing.assert_array_equal(x.get(), expected)
