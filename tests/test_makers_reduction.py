"""cupola.reduction: map, reduce, neutral element and post, with NumPy as the reference."""

import images
import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_makers_elementwise import numbers, shapes, view

import cupola

quickly = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
TYPES = ["?", "i1", "u4", "i8", "f2", ml_dtypes.bfloat16, "f4", "c16"]
PAIR = np.dtype([("value", "f4"), ("index", "i4")])


@pytest.fixture(autouse=True)
def _compiler():
    images.nvrtc()


@pytest.fixture(scope="module")
def dot():
    return cupola.reduction("const T* x, const T* y, T* out", "x[i] * y[i]", "a + b", "0", "dot")


@pytest.fixture(scope="module")
def total():
    return cupola.reduction("const T* x, T* out", "x[i]", "a + b", "0", "total")


@pytest.fixture(scope="module")
def smallest():
    """The least number and the first index of it, as a struct."""
    return cupola.reduction(
        "const float* x, Pair* out",
        "Pair{x[i], (int)i}",
        "a.value < b.value || (a.value == b.value && a.index < b.index) ? a : b",
        "Pair{INFINITY, 0x7fffffff}",
        "smallest",
        preamble="struct Pair { float value; int index; };",
        structs={"Pair": PAIR},
    )


def summed(x, axis, keepdims=False):
    """The sum in the array's own type, which wraps around and has no negative zero."""
    wide = {"b": "u8", "i": "i8", "u": "u8", "c": "c16"}.get(x.dtype.kind, "f8")
    found = np.sum(x.astype(wide), axis=axis, keepdims=keepdims)
    return (found != 0 if x.dtype.kind == "b" else found).astype(x.dtype)


@quickly
@given(data=st.data(), dtype=st.sampled_from(TYPES))
def test_sums_of_each_type_axis_and_layout(driver, dot, data, dtype):
    first, second = data.draw(shapes())
    x, here = data.draw(view(first, dtype, 1))
    y, beside = data.draw(view(second, dtype, 2))
    product = np.asarray(here * beside)
    axes = st.sets(st.integers(0, product.ndim - 1)) if product.ndim else st.just(set())
    axis = data.draw(st.one_of(st.none(), axes.map(tuple)))
    keepdims = data.draw(st.booleans())
    made = dot(x, y, axis=axis, keepdims=keepdims)
    expected = summed(product, axis, keepdims)
    assert made.dtype == product.dtype and made.shape == expected.shape
    np.testing.assert_array_equal(made.get(), expected)
    out = cupola.zeros((*expected.shape, 2), product.dtype)[..., 1]
    assert dot(x, y, axis=axis, keepdims=keepdims, out=out) is out
    np.testing.assert_array_equal(out.get(), expected)


@pytest.mark.parametrize("n", [0, 1, 31, 32, 33, 1000, 1025, 4097, 100_003, 5_000_000])
def test_lengths_around_those_where_the_work_is_dealt_out_differently(driver, total, n):
    x = numbers("i4", n)
    there = cupola.to_device(x)
    assert total(there).item() == x.sum()
    if n < 10_000:
        rows = numbers("i4", (3, n), 2)
        np.testing.assert_array_equal(total(cupola.to_device(rows), axis=1).get(), rows.sum(1))
        columns = np.ascontiguousarray(rows.T)
        made = total(cupola.to_device(columns), axis=0)
        np.testing.assert_array_equal(made.get(), columns.sum(0))


def test_the_order_follows_from_the_shape_alone(driver, total):
    for shape, axis in [((50_001,), None), ((7, 5000), 1), ((5000, 7), 0), ((40, 50, 60), (0, 2))]:
        x = np.random.default_rng(3).normal(size=shape).astype("f4")
        there = cupola.to_device(x)
        first = total(there, axis=axis).get()
        wide = x.astype("f8").sum(axis)
        np.testing.assert_allclose(first, wide, rtol=1e-5, atol=1e-3)
        spread = cupola.zeros((*shape, 2), np.float32)[..., 0]
        spread[...] = there
        turned = cupola.to_device(np.ascontiguousarray(x.T)).T
        for other in (there, spread, turned):
            np.testing.assert_array_equal(total(other, axis=axis).get(), first)


@pytest.mark.parametrize("dtype", ["f2", ml_dtypes.bfloat16])
def test_halves_are_added_in_float32(driver, total, dtype):
    x = np.full(10_000, 0.125, dtype)
    assert float(total(cupola.to_device(x)).get()) == float(np.array(1250.0).astype(dtype))


def test_structs_as_results(driver, smallest):
    x = np.random.default_rng(5).integers(0, 50, (30, 40, 20)).astype("f4")
    there = cupola.to_device(x)
    for axis in (None, 0, 1, 2):
        made = smallest(there, axis=axis).get()
        np.testing.assert_array_equal(made["value"], x.min(axis))
        np.testing.assert_array_equal(made["index"], x.argmin(axis))
    made = smallest(there[:0])
    assert made.get()[()].tolist() == (np.inf, 0x7FFFFFFF)


def test_parts_of_a_struct_as_results(driver):
    argmax = cupola.reduction(
        "const T* x, T* value, long long* index",
        "Best{x[i], i}",
        "b.value > a.value || (b.value == a.value && b.index < a.index) ? b : a",
        "Best{-INFINITY, 1ll << 62}",
        post=["a.value", "a.index"],
        accumulator="Best",
        preamble="struct Best { T value; long long index; };",
        structs={"Best": np.dtype([("value", "f8"), ("index", "i8")])},
    )
    x = np.random.default_rng(6).integers(0, 99, (9, 5000)).astype("f8")
    value, index = argmax(cupola.to_device(x), axis=1)
    np.testing.assert_array_equal(value.get(), x.max(1))
    np.testing.assert_array_equal(index.get(), x.argmax(1))


def test_several_reductions_in_one_pass(driver):
    moments = cupola.reduction(
        "float scale, const T* x, T* mean, T* variance, long long* which",
        ["scale * x[i]", "scale * x[i] * (scale * x[i])"],
        ["a + b", "a + b"],
        ["0", "0"],
        post=["a0 / n", "a1 / n - (a0 / n) * (a0 / n)", "o"],
        accumulator=["double", "double"],
    )
    x = np.random.default_rng(7).normal(size=(6, 20_000)).astype("f4")
    mean, variance, which = moments(2, cupola.to_device(x), axis=1)
    assert mean.dtype == np.float32
    np.testing.assert_allclose(mean.get(), 2 * x.mean(1, dtype="f8"), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(variance.get(), 4 * x.var(1, dtype="f8"), rtol=1e-5)
    np.testing.assert_array_equal(which.get(), np.arange(6))
    bounds = cupola.reduction(
        "const T* x, T* least, T* most",
        ["x[i]", "x[i]"],
        ["a < b ? a : b", "a > b ? a : b"],
        ["127", "-128"],
    )
    x = np.random.default_rng(8).integers(-128, 128, 3000).astype("i1")
    least, most = bounds(cupola.to_device(x))
    assert (least.item(), most.item()) == (x.min(), x.max())


def test_raw_arrays_and_sizes(driver):
    gather = cupola.reduction(
        "raw const float* x, const int* at, float* out", "x[at[i]]", "a + b", "0"
    )
    x, at = numbers("f4", 500), np.random.default_rng(9).integers(0, 500, (4, 70)).astype("i4")
    made = gather(cupola.to_device(x), cupola.to_device(at), axis=0)
    np.testing.assert_array_equal(made.get(), x[at].sum(0))
    count = cupola.reduction("long long* out", "i % 3 == 0", "a + b", "0")
    assert count(size=10_000).item() == 3334


def test_code_that_needs_pointers(driver):
    total = cupola.reduction(
        "const float* x, float* out",
        "at(x, i)",
        "a + b",
        "0",
        preamble="__device__ float at(const float* x, long long i) { return x[i]; }",
        contiguous=True,
    )
    x = numbers("f4", (6, 7))
    made = total(cupola.to_device(x).T, axis=1)
    np.testing.assert_array_equal(made.get(), x.sum(0))


def test_a_prepared_call_only_launches(driver):
    weigh = cupola.reduction("float w, const T* x, T* out", "w * x[i]", "a + b", "0", "weigh")
    x = cupola.to_device(np.ones(100_000, np.float32))
    call = weigh.prepare(2, x)
    assert len(call.launches) == 2
    call()
    assert call.results[0].item() == 200_000
    call["w"] = 3.0
    call()
    assert call.results[0].item() == 300_000
    with pytest.raises(cupola.ArgumentTypeError, match="they have to be contiguous"):
        weigh.prepare(2, x.reshape(2, -1), axis=1, out=cupola.zeros((2, 2), np.float32)[:, 0])


@pytest.mark.cpu_only("host memory is refused on a GPU")
def test_arrays_of_numpy(driver, total):
    x = numbers("i4", (3, 4))
    out = np.zeros(3, "i4")
    assert total(x, axis=1, out=out) is out
    np.testing.assert_array_equal(out, x.sum(1))


def test_arguments_that_are_refused(driver, total):
    x = cupola.zeros((2, 3))
    wrong = [
        (lambda: total(x, axis=2), r"total: axis 2 is out of range for the shape \(2, 3\)"),
        (lambda: total(x, axis=(0, -2)), "names an axis twice"),
        (lambda: total(x, axis="x"), "axis is None, an int or a tuple of int, got 'x'"),
        (lambda: total(x, axis=0, out=cupola.zeros(2)), r"out has the shape \(2,\); .* \(3,\)"),
        (lambda: total(), "argument x is missing"),
    ]
    for call, message in wrong:
        with pytest.raises(cupola.ArgumentError, match=message):
            call()


WRONG = [
    (("const T* x, T* out", ["x[i]"] * 2, "a + b", "0"), {}, "map has 2 expressions, reduce 1"),
    (("const T* x", "x[i]", "a + b", "0"), {}, "no parameter is a result"),
    (("const T* x, T* y, T* z", "x[i]", "a + b", "0"), {}, "2 results, 1 expressions to map"),
    (("const T* x, T* out", "x[i]", "a + b", "0"), {"post": ["a", "a"]}, "1 results, 2 of post"),
    (("const T* x, T* out", "x[i]", "a + b", "0"), {"accumulator": "Pair"}, "accumulator 'Pair'"),
    (("const T* a, T* out", "a[i]", "a + b", "0"), {}, "name 'a', which the kernel's code uses"),
    (("const T* x, T* out", 3, "a + b", "0"), {}, "map is C\\+\\+ code as a text, got int"),
]


@pytest.mark.parametrize(("arguments", "more", "message"), WRONG)
def test_definitions_that_are_refused(arguments, more, message):
    with pytest.raises(cupola.ArgumentError, match=message):
        cupola.reduction(*arguments, **more)


def test_errors_of_the_compiler_name_the_callers_expressions(driver):
    x = cupola.zeros(3)
    for key in ("map", "reduce", "neutral", "post"):
        parts = {"map": "x[i]", "reduce": "a + b", "neutral": "0", "post": "a"}
        parts[key] = "\nunknown"
        broken = cupola.reduction("const T* x, T* out", name="broken", **parts)
        with pytest.raises(cupola.CompileError, match=rf"^broken {key}\(2\): error.*unknown"):
            broken(x)
