"""searchsorted, digitize, bincount and histogram, with NumPy as the reference."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from keys import elements
from working import refused

import cupola
from cupola.arrays.bin_rules import RULES

quickly = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
REALS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]
NUMBERS = ["?", *REALS, "c8", "c16"]


def same(found, expected):
    assert type(found) is cupola.Array
    assert found.dtype == expected.dtype and found.shape == expected.shape
    np.testing.assert_array_equal(found.get(), expected)


def with_nan(host, share=0.2):
    """Some elements, and parts of complex ones, are NaN or infinite."""
    random = np.random.default_rng(host.size)
    if host.dtype.kind in "fc" and host.size:
        parts = host.real if host.dtype.kind == "c" else host
        parts[random.random(host.shape) < share] = np.nan
        if host.dtype.kind == "c":
            host.imag[random.random(host.shape) < share] = np.nan
        parts[random.random(host.shape) < share] = -np.inf
    return host


@pytest.mark.parametrize("dtype", NUMBERS)
def test_searchsorted_of_each_type(driver, dtype):
    for count, n in [(0, 3), (1, 5), (7, 0), (100, 1000)]:
        host = np.sort(with_nan(elements((count,), dtype)))
        values = with_nan(elements((n,), dtype, 1))
        for side in ("left", "right"):
            expected = np.searchsorted(host, values, side)
            same(np.searchsorted(cupola.to_device(host), cupola.to_device(values), side), expected)


@quickly
@given(data=st.data())
def test_searchsorted_with_mixed_types_and_sorters(driver, data):
    host = elements((data.draw(st.integers(0, 40)),), data.draw(st.sampled_from(NUMBERS)))
    shape = tuple(data.draw(st.lists(st.integers(0, 4), max_size=3)))
    values = elements(shape, data.draw(st.sampled_from(NUMBERS)), 2)
    order, side = np.argsort(host), data.draw(st.sampled_from(["left", "right"]))
    there = cupola.to_device(np.repeat(host, 2))[::2]
    on_device = cupola.to_device(values.T.copy()).T
    expected = np.asarray(np.searchsorted(host, values, side, order))
    for sorter in (order, cupola.to_device(order.astype("i4"))):
        same(cupola.searchsorted(there, on_device, side, sorter), expected)
    if host.dtype.kind != "c":
        same(
            cupola.searchsorted(there, 2.5, sorter=order),
            np.asarray(np.searchsorted(host, 2.5, sorter=order)),
        )


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i4", "i8", "f4", "f8"])
def test_digitize(driver, dtype):
    host = with_nan(elements((30, 7), dtype))
    for bins in ([], [0], [-3, 0, 0, 2.5, 4], [5, 1, -2], np.array([0, 3], "i2")):
        for right in (False, True):
            expected = np.digitize(host, bins, right)
            same(np.digitize(cupola.to_device(host), bins, right), expected)
            there = cupola.to_device(np.asarray(bins))
            same(cupola.digitize(cupola.to_device(host), there, right), expected)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8"])
def test_bincount_of_each_type(driver, dtype):
    for n in (0, 1, 31, 2049, 30_000):
        host = np.random.default_rng(n).integers(0, 2 if dtype == "?" else 120, n).astype(dtype)
        there = cupola.to_device(host)
        for least in (0, 5, 200):
            same(np.bincount(there, minlength=least), np.bincount(host, minlength=least))
        weights = np.random.default_rng(n).integers(-9, 9, n)
        for kind in ("f8", "f4", "i4", "?"):
            of = weights.astype(kind)
            same(cupola.bincount(there, cupola.to_device(of)), np.bincount(host, of))


@pytest.mark.parametrize("dtype", ["f4", "c8"])
def test_bincount_refuses_types_without_elements_too(driver, dtype):
    for n in (0, 3):
        with pytest.raises(cupola.ArgumentTypeError, match="bincount: argument x: expected integ"):
            cupola.bincount(cupola.zeros(n, dtype))
        with pytest.raises(TypeError):
            np.bincount(np.zeros(n, dtype))


@pytest.mark.parametrize("bins", [1, 200, 4096, 12_288, 12_289, 70_000])
def test_bincount_in_shared_memory_and_without(driver, bins):
    host = np.random.default_rng(bins).integers(0, bins, 20_000)
    host[:5000] = bins - 1
    there = cupola.to_device(host)
    same(cupola.bincount(there), np.bincount(host))
    weights = np.random.default_rng(1).random(20_000)
    found = cupola.bincount(there, cupola.to_device(weights)).get()
    np.testing.assert_allclose(found, np.bincount(host, weights), rtol=1e-12)


@quickly
@given(data=st.data())
def test_histogram(driver, data):
    dtype = data.draw(st.sampled_from(REALS))
    shape = tuple(data.draw(st.lists(st.integers(0, 30), min_size=1, max_size=2)))
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    host = (
        random.normal(0, 20, shape) if dtype[0] == "f" else random.integers(0, 99, shape)
    ).astype(dtype)
    kind = data.draw(st.sampled_from(["number", "range", "edges"]))
    options = {"bins": data.draw(st.integers(1, 40))}
    if kind == "range":
        low = data.draw(st.integers(-10, 10))
        options["range"] = (low, low + data.draw(st.sampled_from([0, 0.1, 1, 17])))
    if kind == "edges":
        edges = data.draw(st.lists(st.integers(-20, 20), min_size=2, max_size=6))
        options["bins"] = np.sort(edges).astype(data.draw(st.sampled_from(["i8", "f4", "f8"])))
    there = cupola.to_device(host)
    try:
        np.histogram(host, **options)
    except ValueError as error:  # NumPy's versions differ in how many bins a range may have
        with refused(cupola.ArgumentValueError, saying=str(error)):
            np.histogram(there, **options)
        return
    for density in (False, True):
        expected = np.histogram(host, **options, density=density)
        found = np.histogram(there, **options, density=density)
        same(found[1], expected[1])
        if density:
            np.testing.assert_allclose(found[0].get(), expected[0], rtol=1e-12)
        else:
            same(found[0], expected[0])
    weights = random.integers(-9, 10, shape).astype(data.draw(st.sampled_from(["i4", "f4", "c8"])))
    found = cupola.histogram(there, **options, weights=cupola.to_device(weights))
    expected = np.histogram(host, **options, weights=weights)
    assert found[0].dtype == expected[0].dtype
    np.testing.assert_allclose(found[0].get(), expected[0], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
def test_values_on_edges_are_in_the_bin_on_their_right(driver, dtype):
    for bins, limits in [(10, (0, 1)), (7, (-3, 4)), (100, (0, 100)), (33, (0.1, 0.7))]:
        edges = np.histogram_bin_edges(np.zeros(0, dtype), bins, limits).astype(dtype)
        host = np.concatenate([edges, np.nextafter(edges, -99).astype(dtype), edges + 1])
        found = cupola.histogram(cupola.to_device(host.astype(dtype)), bins, limits)[0]
        same(found, np.histogram(host.astype(dtype), bins, limits)[0])


def test_histograms_leave_out_nan_and_what_is_outside(driver):
    host = np.array([np.nan, 0, 1, 2, np.inf, -np.inf, 3, np.nan])
    there = cupola.to_device(host)
    for bins, limits in [(4, (0, 3)), ([0, 1, 3], None), ([1, 1], None)]:
        same(np.histogram(there, bins, limits)[0], np.histogram(host, bins, limits)[0])


@pytest.mark.parametrize("rule", sorted(RULES))
@pytest.mark.parametrize("dtype", ["i4", "u1", "f4", "f8"])
def test_rules_for_the_number_of_bins(driver, dtype, rule):
    random = np.random.default_rng(5)
    for host in (
        random.normal(60, 9, (20, 50)), random.exponential(20, 300), np.full(9, 4), np.arange(2),
        np.zeros(0), np.ones(1), random.integers(0, 4, 500),
    ):  # fmt: skip
        host = host.astype(dtype)
        there = cupola.to_device(host)
        for limits in (None, (10, 50), (300, 400)):
            expected, found = np.histogram(host, rule, limits), np.histogram(there, rule, limits)
            same(found[0], expected[0])
            np.testing.assert_allclose(found[1].get(), expected[1], rtol=1e-6)


def test_a_rule_by_its_definition(driver):
    """Of 1000 elements, Sturges' rule makes 1 + log2(1000) bins, rounded up."""
    x = cupola.to_device(np.random.default_rng(1).random(1000))
    assert cupola.histogram(x, "sturges")[0].size == 11
    assert cupola.histogram(x, "sqrt")[0].size == 32
    stream = cupola.Stream()
    with refused(cupola.ArgumentValueError, saying="a rule counts bins"), stream.capture():
        cupola.histogram(x, "auto", (0, 1))


def test_many_bins(driver):
    host = np.random.default_rng(3).random(50_000).astype("f4")
    for bins in (4096, 12_289, 100_000):
        same(cupola.histogram(cupola.to_device(host), bins)[0], np.histogram(host, bins)[0])


def test_wrong_arguments(driver):
    x = cupola.array([1.0, 2, 3])
    numbers = cupola.array([1, 2, 3])
    for call, words in [
        (lambda: cupola.searchsorted(x[None], x), "searchsorted: argument a has 2 axes"),
        (lambda: cupola.searchsorted(x, x, "middle"), "searchsorted: argument side"),
        (lambda: cupola.searchsorted(x, [1, 2]), "searchsorted: argument v"),
        (lambda: cupola.searchsorted(x, x, sorter=[0]), "searchsorted: argument sorter has"),
        (lambda: cupola.searchsorted(x, x, sorter=[0.0] * 3), "expected integers"),
        (lambda: cupola.digitize(x, [0, 2, 1]), "neither ascending nor descending"),
        (lambda: cupola.digitize(x.astype("c8"), [0]), "digitize: argument x"),
        (lambda: cupola.bincount(x), "bincount: argument x: expected integers"),
        (lambda: cupola.bincount(-numbers), "negative number: -3"),
        (lambda: cupola.bincount(numbers[None]), "bincount: argument x has 2 axes"),
        (lambda: cupola.bincount(numbers, x[:2]), "bincount: argument weights has the shape"),
        (lambda: cupola.bincount(numbers, minlength=-1), "minlength is negative"),
        (lambda: cupola.histogram(x, "many"), "'many'"),
        (lambda: cupola.histogram(x, "auto", (2, 1)), "max must be larger"),
        (lambda: cupola.histogram(x, "auto", weights=x), "'auto' does not take weights"),
        (lambda: cupola.histogram(x, 0), "histogram: `bins` must be positive"),
        (lambda: cupola.histogram(x, [2, 1]), "histogram: "),
        (lambda: cupola.histogram(x * np.nan), "not finite"),
        (lambda: cupola.histogram(x.astype("c8")), "histogram: argument a"),
        (lambda: cupola.histogram(x, weights=x[:1]), "histogram: argument weights"),
    ]:
        with refused(cupola.ArgumentError, saying=words):
            call()


def test_what_waits_is_refused_in_a_capture(driver):
    stream = cupola.Stream()
    x = cupola.array([1, 2, 2])
    for call in (lambda: cupola.bincount(x), lambda: cupola.histogram(x, 3)):
        with refused(cupola.ArgumentValueError, saying="range="), stream.capture():
            call()
    with stream.capture() as graph:
        counts = cupola.histogram(x, 3, (0, 3))[0]
    made = graph.instantiate()
    made.launch()
    same(counts, np.array([0, 1, 2]))


@pytest.mark.parametrize("bins", [4, 7, 37, 100])
def test_histogram_of_coarse_edges(bins):
    """Edges of float16 are rounded more than the estimates of elements, which are float32."""
    x = np.arange(-12, 5, 0.01).astype("f2")
    made = cupola.histogram(cupola.to_device(x), bins)
    np.testing.assert_array_equal(made[0].get(), np.histogram(x, bins)[0])
