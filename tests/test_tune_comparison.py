"""The comparison of results with references, beside numpy.isclose."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cupola.tuning import comparison
from cupola.tuning.comparison import difference, tolerance


@pytest.mark.parametrize(
    ("dtype", "limit"),
    [("f2", 9.8e-3), ("f4", 2.43e-5), ("f8", 3.67e-11), ("c8", 2.43e-5),
     (ml_dtypes.bfloat16, 0.0394), ("i4", 0), ("u1", 0), ("?", 0)],
)  # fmt: skip
def test_the_default_tolerance_is_that_of_the_dtype(dtype, limit):
    assert tolerance(np.dtype(dtype), np.dtype(dtype)) == pytest.approx(limit, rel=0.01)
    one = np.ones(3, dtype)
    if not limit:
        assert difference("x", one, one) is None
        return
    wide = one.astype("c16" if np.dtype(dtype).kind == "c" else "f8")
    assert difference("x", one, wide * (1 + 0.5 * limit)) is None
    assert difference("x", one, wide * (1 + 5 * limit)).count == 3


def test_the_coarser_dtype_of_result_and_reference_counts():
    got = np.array([1 + 1e-6], np.float64)
    assert difference("x", got, np.ones(1, np.float32)) is None
    assert difference("x", got, np.ones(1, np.float64)) is not None


def test_the_text_names_the_first_difference():
    expected = np.arange(12, dtype=np.int64).reshape(3, 4)
    got = expected.copy()
    got[1, 2], got[2, 3] = 7, 0
    found = difference("out", got, expected)
    assert str(found) == "out[1, 2]: got 7, expected 6; 2 of 12 elements differ"
    one = difference("n", np.array(1), np.array(2))
    assert str(one) == "n: got 1, expected 2; 1 of 1 element differs"
    none = np.zeros((0, 3))
    assert difference("x", none, none) is None


def test_nan_equals_nan_and_infinities_have_signs():
    values = np.array([np.nan, np.inf, -np.inf, 1.0], np.float32)
    assert difference("x", values, values.copy()) is None
    assert difference("x", values, -values).index == (1,)
    assert difference("x", values, values, rtol=0, atol=0) is None
    assert difference("x", np.zeros(1), np.array([np.nan])).expected == "nan"
    assert difference("x", np.array([np.inf]), np.array([1e300]), rtol=1.0) is not None


def test_structured_elements_must_be_equal():
    dtype = np.dtype([("key", "i4"), ("value", "f4")])
    got = np.array([(1, 2.0), (3, 4.0)], dtype)
    expected = got.copy()
    assert difference("x", got, expected) is None
    expected["value"][1] = 5
    assert difference("x", got, expected).index == (1,)


def test_large_integers_are_not_rounded():
    got, expected = np.array([2**62 + 1]), np.array([2**62])
    assert difference("x", got, expected).got == str(2**62 + 1)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_against_numpy(data):
    """Also where the array is compared in several parts."""
    size = data.draw(st.integers(0, 50))
    order = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    expected = order.standard_normal(size)
    got = expected + order.choice([0, 1e-3, 1], size, p=[0.8, 0.1, 0.1])
    rtol, atol = data.draw(st.sampled_from([(0.0, 0.0), (1e-2, 0.0), (0.0, 1e-2), (1.0, 1.0)]))
    before, comparison._CHUNK = comparison._CHUNK, data.draw(st.integers(1, 60))
    try:
        found = difference("x", got, expected, rtol, atol)
    finally:
        comparison._CHUNK = before
    wrong = np.flatnonzero(~np.isclose(got, expected, rtol=rtol, atol=atol))
    assert (found.index[0], found.count) == (wrong[0], len(wrong)) if wrong.size else found is None
