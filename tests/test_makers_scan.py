"""cupola.scan: inclusive, exclusive and segmented, with NumPy as the reference."""

import re

import images
import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_makers_elementwise import numbers, view

import cupola
from cupola import compiler

quickly = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
TYPES = ["?", "i1", "u4", "i8", "f2", ml_dtypes.bfloat16, "f4", "c16"]


@pytest.fixture(autouse=True)
def _compiler():
    images.nvrtc()


@pytest.fixture(scope="module")
def cumsum():
    return cupola.scan("const T* x, T* out", "x[i]", "a + b", "0", "cumsum")


@pytest.fixture(scope="module")
def before():
    return cupola.scan("const T* x, T* out", "x[i]", "a + b", "0", "before", exclusive=True)


@pytest.fixture(scope="module")
def segmented():
    return cupola.scan(
        "const T* x, const bool* start, T* out, T* left",
        "x[i]",
        "a + b",
        "0",
        "segmented",
        segment="start[i]",
        output="out[i] = item; left[i] = prev",
    )


def running(x, axis):
    """The running sum in the array's own type; over all elements where axis is None."""
    wide = {"b": "u8", "i": "i8", "u": "u8", "c": "c16"}.get(x.dtype.kind, "f8")
    found = np.cumsum(x.astype(wide), axis=axis).reshape(x.shape)
    return (found != 0 if x.dtype.kind == "b" else found).astype(x.dtype)


@quickly
@given(data=st.data(), dtype=st.sampled_from(TYPES))
def test_sums_of_each_type_axis_and_layout(driver, cumsum, data, dtype):
    shape = tuple(data.draw(st.lists(st.integers(0, 5), max_size=3)))
    x, here = data.draw(view(shape, dtype, 1))
    axes = st.integers(-here.ndim, here.ndim - 1) if here.ndim else st.none()
    axis = data.draw(st.one_of(st.none(), axes))
    made = cumsum(x, axis=axis)
    expected = running(here, axis)
    assert made.dtype == here.dtype and made.shape == here.shape
    np.testing.assert_array_equal(made.get(), expected)
    out = cupola.zeros((*shape, 2), dtype)[..., 1]
    assert cumsum(x, axis=axis, out=out) is out
    np.testing.assert_array_equal(out.get(), expected)
    cumsum(x, axis=axis, out=x)
    np.testing.assert_array_equal(x.get(), expected)


LENGTHS = [0, 1, 31, 32, 33, 256, 1000, 1025, 2049, 4097, 100_003, 5_000_000]


@pytest.mark.parametrize("n", LENGTHS)
def test_without_a_neutral_element(driver, n):
    x = numbers("i4", n) - 5
    latest = cupola.scan(
        "const int* x, int* out, int* before", "x[i]", "b > 0 ? b : a", None, "latest",
        output="out[i] = item; before[i] = prev",
    )  # fmt: skip
    out, before = latest(cupola.to_device(x))
    at = np.maximum.accumulate(np.where(x > 0, np.arange(n), 0)) if n else np.arange(0)
    np.testing.assert_array_equal(out.get(), x[at])
    np.testing.assert_array_equal(before.get()[1:], x[at][:-1])
    assert before.get()[:1].tolist() == [0][:n]  # int()


def test_segments_without_a_neutral_element(driver):
    x = numbers("i4", 5000) - 9
    largest = cupola.scan(
        "const int* x, int* out", "x[i]", "max(a, b)", None, "largest", segment="i % 7 == 0"
    )
    expected = np.concatenate([np.maximum.accumulate(x[k : k + 7]) for k in range(0, 5000, 7)])
    np.testing.assert_array_equal(largest(cupola.to_device(x)).get(), expected)


@pytest.mark.parametrize("n", LENGTHS)
def test_lengths_around_those_where_the_work_is_dealt_out_differently(driver, cumsum, before, n):
    x = numbers("i4", n)
    there = cupola.to_device(x)
    np.testing.assert_array_equal(cumsum(there).get(), x.cumsum(dtype="i4"))
    np.testing.assert_array_equal(before(there).get(), x.cumsum(dtype="i4") - x)
    if n < 10_000:
        rows = numbers("i4", (3, n), 2)
        expected = rows.cumsum(1, dtype="i4")
        np.testing.assert_array_equal(cumsum(cupola.to_device(rows), axis=1).get(), expected)
        turned = cupola.to_device(np.ascontiguousarray(rows.T))
        np.testing.assert_array_equal(cumsum(turned, axis=0).get(), expected.T)


@quickly
@given(
    n=st.sampled_from([1, 20, 40, 1000, 5000]),
    seed=st.integers(0, 2**16),
    share=st.sampled_from([0, 0.001, 0.1, 1]),
)
def test_segments(driver, segmented, n, seed, share):
    random = np.random.default_rng(seed)
    x, start = numbers("i8", n, seed), random.random(n) < share
    expected, left, value = [], [], 0
    for number, begins in zip(x.tolist(), start.tolist(), strict=True):
        value = 0 if begins else value
        left.append(value)
        value += number
        expected.append(value)
    made, other = segmented(cupola.to_device(x), cupola.to_device(start))
    np.testing.assert_array_equal(made.get(), expected)
    np.testing.assert_array_equal(other.get(), left)


def test_an_operator_that_does_not_commute(driver):
    """The composition of x -> p x + q, modulo 2**32."""
    compose = cupola.scan(
        "const unsigned* p, const unsigned* q, Line* out",
        "Line{p[i], q[i]}",
        "Line{a.p * b.p, a.q * b.p + b.q}",
        "Line{1, 0}",
        preamble="struct Line { unsigned p, q; };",
        structs={"Line": np.dtype([("p", "u4"), ("q", "u4")])},
    )
    random = np.random.default_rng(4)
    for n in (7, 500, 30_000):
        p, q = (random.integers(0, 2**32, n).astype("u4") for _ in range(2))
        made = compose(cupola.to_device(p), cupola.to_device(q)).get()
        whole, rest = 1, 0
        for k in range(n):
            whole, rest = whole * int(p[k]) % 2**32, (rest * int(p[k]) + int(q[k])) % 2**32
            if k % 997 == 0 or k == n - 1:
                assert made[k].tolist() == (whole, rest), k


def test_the_order_follows_from_the_shape_alone(driver, cumsum):
    for shape, axis in [((50_001,), None), ((7, 5000), 1), ((5000, 7), 0)]:
        x = np.random.default_rng(3).normal(size=shape).astype("f4")
        first = cumsum(cupola.to_device(x), axis=axis).get()
        np.testing.assert_allclose(first, x.astype("f8").cumsum(axis), rtol=1e-4, atol=1e-2)
        turned = cupola.to_device(np.ascontiguousarray(x.T)).T
        np.testing.assert_array_equal(cumsum(turned, axis=axis).get(), first)


@pytest.mark.parametrize("dtype", ["f2", ml_dtypes.bfloat16])
def test_halves_are_added_in_float32(driver, cumsum, dtype):
    made = cumsum(cupola.to_device(np.full(10_000, 0.125, dtype))).get()
    expected = (np.arange(1, 10_001) / 8).astype(dtype)
    np.testing.assert_array_equal(made, expected)


def test_maxima_and_more_results(driver):
    runs = cupola.scan(
        "const T* x, T* most, bool* record",
        "x[i]",
        "a > b ? a : b",
        "-1",
        output="most[i] = item; record[i] = item > prev",
    )
    x = np.random.default_rng(5).integers(0, 1000, (4, 3000)).astype("i4")
    most, record = runs(cupola.to_device(x), axis=1)
    expected = np.maximum.accumulate(x, axis=1)
    np.testing.assert_array_equal(most.get(), expected)
    np.testing.assert_array_equal(record.get(), np.diff(expected, axis=1, prepend=-1) > 0)


def test_code_that_needs_pointers(driver):
    total = cupola.scan(
        "const int* x, int* out",
        "at(x, i)",
        "a + b",
        "0",
        preamble="__device__ int at(const int* x, long long i) { return x[i]; }",
        contiguous=True,
    )
    x = numbers("i4", (6, 7))
    there = cupola.to_device(x)
    np.testing.assert_array_equal(total(there.T, axis=1).get(), x.T.cumsum(1))
    with pytest.raises(cupola.ArgumentValueError, match="argument out is written, and its groups"):
        total(there, axis=0)


def test_sizes_and_prepared_calls(driver):
    squares = cupola.scan("int step, long long* out", "2 * i + step", "a + b", "0")
    made = squares(1, size=5000)
    np.testing.assert_array_equal(made.get(), np.arange(1, 5001) ** 2)
    call = squares.prepare(1, size=5000)
    assert len(call.launches) == 3
    call["step"] = 2
    call()
    np.testing.assert_array_equal(call.results[0].get(), np.cumsum(2 * np.arange(5000) + 2))


@pytest.mark.cpu_only("host memory is refused on a GPU")
def test_arrays_of_numpy(driver, cumsum):
    x = numbers("i4", 40)
    expected = x.cumsum()
    assert cumsum(x, out=x) is x
    np.testing.assert_array_equal(x, expected)


WRONG = [
    (("const T* x", "x[i]", "a + b", "0"), {}, "no parameter is a result"),
    (("const T* x, T* y, T* z", "x[i]", "a + b", "0"), {}, "2 results: write output="),
    (
        ("const T* x, T* y", "x[i]", "a + b", "0"),
        {"output": "y[i] = prev", "exclusive": True},
        "exclusive= is for scans without output=",
    ),
    (("const T* item, T* y", "item[i]", "a + b", "0"), {}, "name 'item', which"),
    (("const T* x, T* y", "x[i]", ["a + b"], "0"), {}, r"scan is C\+\+ code as a text, got list"),
]


@pytest.mark.parametrize(("arguments", "more", "message"), WRONG)
def test_definitions_that_are_refused(arguments, more, message):
    with pytest.raises(cupola.ArgumentError, match=message):
        cupola.scan(*arguments, **more)


def test_errors_name_the_callers_texts(driver, cumsum):
    x = cupola.zeros(3)
    for key in ("map", "scan", "neutral", "segment", "output"):
        parts = {"map": "x[i]", "scan": "a + b", "neutral": "0", key: "\nunknown"}
        broken = cupola.scan("const T* x, T* out", name="broken", **parts)
        with pytest.raises(cupola.CompileError, match=rf"^broken {key}\(2\): error.*unknown"):
            broken(x)
    with pytest.raises(cupola.ArgumentValueError, match=r"axis 1 is out of range"):
        cumsum(x, axis=1)
    with pytest.raises(cupola.ArgumentValueError, match=r"out is written and has the shape \(1,\)"):
        cumsum(x, out=cupola.zeros(1))


@pytest.fixture
def made(monkeypatch):
    """The images that the compiler makes."""
    made, build = [], compiler.build

    def kept(*arguments):
        made.append(build(*arguments))
        return made[-1]

    monkeypatch.setattr(compiler, "build", kept)
    return made


def ptx_of(built):
    return built.ptx or built.image.decode()


@pytest.mark.parametrize("segment", [None, "i % 3 == 0"])
def test_totals_are_whole_words(driver, made, segment):
    """Flags of one byte would cost several operations at each exchange between lanes."""
    latest = cupola.scan("const float* x, float* out", "x[i]", "b", None, "words", segment=segment)
    x = numbers("f4", 5000)
    np.testing.assert_array_equal(latest(cupola.to_device(x)).get(), x)
    text = ptx_of(*made)
    assert "shfl.sync" in text
    byte = r"\b(?:ld|st)\.(?:local|(?:shared|global)\S*(?:b|u)8)\b"
    assert not set(re.findall(rf"{byte}|\bprmt", text))


def test_totals_of_chunks_are_reduced(driver, made):
    """A scan would exchange more values between lanes than a reduction does."""
    added = cupola.scan("const int* x, int* out", "x[i]", "a + b", "0", "added")
    x = numbers("i4", 10_000)
    np.testing.assert_array_equal(added(cupola.to_device(x)).get(), np.cumsum(x, dtype="i4"))
    kernels = re.split(r"\.entry", ptx_of(*made))[1:]
    exchanges = {"_totals" in one[: one.index("(")]: one.count("shfl.sync") for one in kernels}
    assert 0 < exchanges[True] < exchanges[False]


def test_lanes_exchange_by_distance(driver, made):
    """The CPU device shuffles by an index lane by lane. Only the index of the last lane is
    constant.
    """
    added = cupola.scan("const int* x, int* out", "x[i]", "a + b", "0", "near")
    total = cupola.reduction("const int* x, int* out", "x[i]", "a + b", "0", "total")
    x = numbers("i4", 10_000)
    np.testing.assert_array_equal(added(cupola.to_device(x)).get(), np.cumsum(x, dtype="i4"))
    np.testing.assert_array_equal(total(cupola.to_device(x)).get(), np.sum(x, dtype="i4"))
    for built in made:
        text = ptx_of(built)
        assert re.search(r"shfl\.sync\.(?:up|down)", text)
        by_index = re.findall(r"shfl\.sync\.idx\.b32\s+[^,]+,[^,]+, ([^,]+),", text)
        assert all(re.search(rf"mov\.\w+\s+{one}, 31;", text) for one in by_index)
