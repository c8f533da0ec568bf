"""unique and functions of sets, with NumPy as the reference."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from keys import elements
from test_algorithms_searching import with_nan
from working import refused

import cupola
from cupola.arrays import distinct

quickly = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
NUMBERS = ["?", "i1", "i4", "i8", "u2", "u8", "f2", "f4", "f8"]


def same(found, expected):
    assert type(found) is cupola.Array
    assert found.dtype == expected.dtype and found.shape == expected.shape
    np.testing.assert_array_equal(found.get(), expected)


def all_same(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        same(one, other)


@quickly
@given(data=st.data())
def test_unique(driver, data):
    shape = tuple(data.draw(st.lists(st.integers(0, 12), min_size=1, max_size=2)))
    host = elements(shape, data.draw(st.sampled_from(NUMBERS)))
    host = with_nan(host) if data.draw(st.booleans()) else host
    there = cupola.to_device(host.T.copy()).T
    flags = [data.draw(st.booleans()) for _ in range(3)]
    equal_nan = data.draw(st.booleans())
    # NumPy's sort is stable only where it returns indices: it decides which NaN is which.
    flags[0] = flags[0] or not equal_nan
    expected = np.unique(host, *flags, equal_nan=equal_nan)
    found = np.unique(there, *flags, equal_nan=equal_nan)
    if any(flags):
        all_same(found, expected)
    else:
        same(found, expected)


# A tile has 8,192 elements, or 4,096 of 8 bytes.
@pytest.mark.parametrize("dtype", [*NUMBERS, "c8"])
@pytest.mark.parametrize("n", [0, 1, 5, 8192, 20001])
def test_unique_of_several_tiles(driver, dtype, n):
    rng = np.random.default_rng(n)
    for host in (rng.integers(-50, 50, n), np.full(n, 7), rng.permutation(n)):
        host = host.astype(dtype)
        if host.dtype.kind == "f":
            host = np.where(host == 3, host.dtype.type(-0.0), host)
            host = np.where(host == 4, host.dtype.type(np.nan), host)
        if host.dtype.kind == "i":
            host[: n // 2] = np.where(host[: n // 2] == 9, np.iinfo(dtype).max, host[: n // 2])
        for equal_nan in (True, False) if host.dtype.kind in "fc" else (True,):
            for there in (cupola.to_device(host), cupola.to_device(np.append(host[:1], host))[1:]):
                same(
                    cupola.unique(there, equal_nan=equal_nan), np.unique(host, equal_nan=equal_nan)
                )


@pytest.mark.parametrize("dtype", ["i1", "i4", "u8", "f4"])
def test_unique_leaves_out_digits_that_all_keys_share(driver, monkeypatch, dtype):
    monkeypatch.setattr(distinct, "LEAST_WAITING", 0)
    rng = np.random.default_rng(3)
    for host in (
        rng.integers(0, 100, 20_000), np.full(9000, 5), rng.integers(-3, 3, 5000),
        rng.integers(0, 90, 9000) << 24, rng.integers(0, 2, 9000) << 40 | rng.integers(0, 9, 9000),
        rng.integers(0, 9, 100),
    ):  # fmt: skip
        host = host.astype(dtype)
        same(cupola.unique(cupola.to_device(host)), np.unique(host))


def test_unique_of_threads(driver):
    """Each call waits for its own count."""
    hosts = [np.random.default_rng(seed).integers(0, 10 * seed + 1, 3000) for seed in range(4)]

    def run(host):
        there = cupola.to_device(host)
        with cupola.Stream():
            return [cupola.unique(there).size for _ in range(30)]

    with ThreadPoolExecutor(len(hosts)) as threads:
        for host, found in zip(hosts, threads.map(run, hosts), strict=True):
            assert set(found) == {np.unique(host).size}


@quickly
@given(data=st.data())
def test_unique_slices(driver, data):
    dtype = data.draw(st.sampled_from([*NUMBERS, "c16"]))
    shape = tuple(data.draw(st.lists(st.integers(0, 6), min_size=1, max_size=3)))
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    host = random.integers(0, data.draw(st.sampled_from([2, 3])), shape).astype(dtype)
    host = host * -1.0 if dtype == "f8" else host  # with -0
    # NumPy compares fields of float16 by another order, which has no fixed place for NaN.
    host = with_nan(host) if dtype != "f2" and data.draw(st.booleans()) else host
    axis = data.draw(st.integers(-host.ndim, host.ndim - 1))
    flags = [data.draw(st.booleans()) for _ in range(3)]
    expected = np.unique(host, *flags, axis=axis)
    found = np.unique(cupola.to_device(host), *flags, axis=axis)
    if not any(flags):
        same(found, expected)
        return
    expected = list(expected)
    if flags[1]:  # NumPy 2.0 gives it as many axes as the array has
        expected[1 + flags[0]] = expected[1 + flags[0]].reshape(-1)
    all_same(found, expected)


@pytest.mark.parametrize("n", [0, 1, 2, 4097, 30_001])
def test_unique_of_each_length(driver, n):
    for values in (1, 50, 10**6):
        host = np.random.default_rng(n).integers(0, values, n, "i4")
        all_same(
            np.unique(cupola.to_device(host), True, True, True), np.unique(host, True, True, True)
        )


def test_functions_of_the_array_api_standard(driver):
    host = np.array([[3.0, np.nan, 3], [np.nan, 1, 3]])
    there = cupola.to_device(host)
    same(np.unique_values(there), np.unique(host, equal_nan=False))
    for function in (np.unique_all, np.unique_counts, np.unique_inverse):
        all_same(function(there), function(host))


@quickly
@given(data=st.data())
def test_functions_of_two_sets(driver, data):
    hosts = [
        elements((data.draw(st.integers(0, 20)),), data.draw(st.sampled_from(NUMBERS)), seed)
        for seed in (1, 2)
    ]
    hosts = [with_nan(one, 0.1) for one in hosts]
    placed = [cupola.to_device(one) for one in hosts]
    for function in (np.union1d, np.intersect1d, np.setdiff1d, np.setxor1d):
        same(function(*placed), function(*hosts))
    all_same(
        np.intersect1d(*placed, return_indices=True), np.intersect1d(*hosts, return_indices=True)
    )
    for invert in (False, True):
        same(np.isin(*placed, invert=invert), np.isin(*hosts, invert=invert))
    different = [np.unique(one) for one in hosts]
    moved = [cupola.to_device(one) for one in different]
    for function in (np.intersect1d, np.setdiff1d, np.setxor1d):
        same(function(*moved, assume_unique=True), function(*different, assume_unique=True))


def test_isin_of_host_elements(driver):
    host = np.arange(12).reshape(3, 4)
    for test in ([3, 99], [], np.array([5, 5]), 7):
        same(cupola.isin(cupola.to_device(host), test), np.isin(host, test))


def test_wrong_arguments(driver):
    x = cupola.array([1.0, 2])
    for call, words in [
        (lambda: cupola.unique([1, 2]), "unique: argument ar"),
        (lambda: cupola.unique(x, axis=1), "unique: argument axis"),
        (lambda: cupola.unique(cupola.zeros(2, "S3")), "|S3"),
        (lambda: cupola.isin([1], x), "isin: argument element"),
        (lambda: cupola.intersect1d(x, [1]), "intersect1d: argument ar2"),
    ]:
        with refused(cupola.ArgumentError, saying=words):
            call()
    stream = cupola.Stream()
    with refused(cupola.ArgumentValueError, saying=("unique", "captured")), stream.capture():
        cupola.unique(x)
