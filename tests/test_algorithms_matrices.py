"""Diagonals, triangles, clip and diff, with NumPy as the reference."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from keys import TYPES, arrays, elements
from test_algorithms_joins import both, same
from working import refused

import cupola

quickly = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@quickly
@given(data=st.data())
def test_diagonals_and_triangles(driver, data):
    host, there = data.draw(arrays(TYPES, 3))
    k = data.draw(st.integers(-3, 3))
    if host.ndim < 3:
        both(np.diag, host, there, k)
    if host.dtype.kind in "bifc":
        both(np.tril, host, there, k)
        both(np.triu, host, there, k)
    if host.ndim > 1:
        both(np.diagonal, host, there, k)
        both(np.diagonal, host, there, k, -1, 0)


def test_a_diagonal_is_a_read_only_view(driver):
    x = cupola.array(np.arange(9.0).reshape(3, 3))
    view = cupola.diagonal(x)
    assert not view.flags.writeable
    x[1, 1] = 70
    same(view, np.array([0.0, 70, 8]))


@quickly
@given(data=st.data())
def test_clip(driver, data):
    dtype = data.draw(st.sampled_from(["i2", "i8", "f4", "f8"]))
    host = elements((4, 5), dtype)
    if dtype[0] == "f":
        host[1, 2] = np.nan
    there = cupola.to_device(host)
    limits = [data.draw(st.sampled_from([None, 0, 3, 5])) for _ in range(2)]
    both(np.clip, host, there, *limits)
    low, high = elements((5,), dtype, 1), elements((4, 1), dtype, 2)
    moved = cupola.to_device(low), cupola.to_device(high)
    same(np.clip(there, *moved), np.clip(host, low, high))
    out = cupola.zeros((4, 5), dtype)
    assert cupola.clip(there, *moved, out) is out
    same(out, np.clip(host, low, high))


@pytest.mark.parametrize("dtype", ["u1", "i1", "u8", "i8"])
def test_clip_takes_integers_beyond_the_dtype(driver, dtype):
    host = np.array([0, 5, 100], dtype)
    there = cupola.to_device(host)
    for limits in ((-1, 50), (2, 2**70), (-(2**70), 2**70), (None, 2**64), (-(2**64), None)):
        both(np.clip, host, there, *limits)
    with pytest.raises(OverflowError):
        np.clip(there, 2**70, None)


@quickly
@given(data=st.data())
def test_diff(driver, data):
    host, there = data.draw(arrays(["?", "i4", "u1", "f4", "c16"], 3))
    axis = data.draw(st.integers(-host.ndim, host.ndim - 1))
    both(np.diff, host, there, data.draw(st.integers(0, 3)), axis)
    same(
        np.diff(there, 1, axis, prepend=there, append=there),
        np.diff(host, 1, axis, prepend=host, append=host),
    )
    if host.dtype.kind != "b":
        same(np.diff(there, axis=axis, append=1), np.diff(host, axis=axis, append=1))


def test_wrong_arguments(driver):
    x = cupola.zeros((2, 3))
    for call, words in [
        (lambda: cupola.diagonal(x[0]), "diagonal: argument a has 1 axes"),
        (lambda: cupola.diagonal(x, 0, 1, 1), "names an axis twice"),
        (lambda: cupola.diag(x[None]), "diag: argument v has 3 axes"),
        (lambda: cupola.tril(x[0, 0]), "tril: argument m has no axes"),
        (lambda: cupola.clip([1], 0), "clip: argument a"),
        (lambda: cupola.diff(x, -1), "diff: argument n is negative"),
        (lambda: cupola.diff(x, append=[1]), "diff: argument append"),
        (lambda: cupola.diff(x[0, 0]), "diff: argument a has no axes"),
    ]:
        with refused(cupola.ArgumentError, saying=words):
            call()
