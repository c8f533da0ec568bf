"""cupola.elementwise: kernels from a statement, with NumPy as the reference."""

import sys

import images
import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cupola

quickly = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
TYPES = [*INTEGERS, "?", "f2", ml_dtypes.bfloat16, "f4", "f8", "c8", "c16"]


@pytest.fixture(autouse=True)
def _compiler():
    images.nvrtc()


@pytest.fixture(scope="module")
def multiply():
    return cupola.elementwise("const T* x, const T* y, T* out", "out[i] = x[i] * y[i]", "multiply")


@pytest.fixture(scope="module")
def scale():
    return cupola.elementwise("float a, const T* x, T* out", "out[i] = a * x[i]", "scale")


def numbers(dtype, shape, seed=0):
    """Small numbers, whose products and sums are exact in each type."""
    made = np.random.default_rng(seed).integers(0, 8, shape)
    if np.dtype(dtype).kind == "c":
        made = made + 1j * np.random.default_rng(seed + 1).integers(0, 8, shape)
    return made.astype(dtype)


@st.composite
def view(draw, shape, dtype, seed):
    """An array on the device with strides of any kind, and the same on the host."""
    steps = [draw(st.sampled_from([1, 1, 2, -1])) for _ in shape]
    order = draw(st.permutations(range(len(shape))))
    whole = [0] * len(shape)
    for place, axis in enumerate(order):
        whole[place] = shape[axis] * abs(steps[axis])
    base = numbers(dtype, whole, seed)
    there = cupola.to_device(base)
    back = [order.index(axis) for axis in range(len(shape))]
    key = tuple(slice(None, None, step) for step in steps)
    return there.transpose(back)[key], base.transpose(back)[key]


@st.composite
def shapes(draw):
    """Two shapes that broadcast."""
    whole = tuple(draw(st.lists(st.integers(0, 5), max_size=4)))
    found = []
    for _ in range(2):
        kept = tuple(1 if draw(st.booleans()) else length for length in whole)
        found.append(kept[draw(st.integers(0, len(kept))) :])
    return found


@quickly
@given(data=st.data(), dtype=st.sampled_from(TYPES))
def test_arrays_of_each_type_and_layout(driver, multiply, data, dtype):
    first, second = data.draw(shapes())
    x, here = data.draw(view(first, dtype, 1))
    y, beside = data.draw(view(second, dtype, 2))
    made = multiply(x, y)
    expected = np.asarray(here * beside)
    assert made.dtype == expected.dtype and made.shape == expected.shape
    np.testing.assert_array_equal(made.get(), expected)
    out = cupola.zeros((*expected.shape, 2), dtype)[..., 1]
    assert multiply(x, y, out=out) is out
    np.testing.assert_array_equal(out.get(), expected)


def test_types_are_promoted(driver, multiply):
    for one, other in [("i2", "i8"), ("u1", "f4"), ("f4", "f8"), ("?", "i4"), ("i8", "f4")]:
        x, y = numbers(one, 7, 3), numbers(other, 7, 4)
        made = multiply(cupola.to_device(x), cupola.to_device(y))
        assert made.dtype == np.result_type(one, other)
        np.testing.assert_array_equal(made.get(), x * y)


def test_numbers_decide_where_no_array_does(driver):
    fill = cupola.elementwise("T value, T* out", "out[i] = value", "fill")
    for value, dtype in [(2, "i8"), (2.5, "f8"), (np.float32(2), "f4"), (3j, "c16")]:
        made = fill(value, size=3)
        assert made.dtype == dtype
        np.testing.assert_array_equal(made.get(), np.full(3, value))
    out = cupola.zeros((2, 2), np.complex64)
    fill(1 + 2j, out=out)
    np.testing.assert_array_equal(out.get(), np.full((2, 2), 1 + 2j, np.complex64))
    assert fill(7, size=0).shape == (0,)


@pytest.mark.parametrize("dtype", ["f2", ml_dtypes.bfloat16])
def test_halves_are_computed_in_float32_and_rounded_once(driver, dtype):
    x, y = (np.random.default_rng(n).normal(size=999).astype(dtype) for n in (5, 6))
    chain = cupola.elementwise("const T* x, const T* y, T* out", "out[i] = x[i] * y[i] + x[i] / 3")
    made = chain(cupola.to_device(x), cupola.to_device(y)).get()
    wide, other = x.astype("f8"), y.astype("f8")
    expected = (wide * other + wide / 3).astype("f4").astype(dtype)
    ulps = np.abs(made.view("i2").astype(int) - expected.view("i2"))
    assert ulps.max() <= 1 and (ulps == 0).mean() > 0.99


@pytest.mark.parametrize("kind", ["complex64", "complex128", "float16", "bfloat16", "float"])
def test_a_text_is_no_number(driver, kind):
    fill = cupola.elementwise(f"{kind} a, {kind}* out", "out[i] = a")
    out = cupola.zeros(2, {"float": "f4", "bfloat16": ml_dtypes.bfloat16}.get(kind, kind))
    for text in ("1.5", b"1", np.str_("2")):
        with pytest.raises(cupola.ArgumentTypeError, match=r"\(?a\)?: expected "):
            fill(text, out)
    fill(1.5, out)
    assert (out.get() == 1.5).all()


def test_complex_arithmetic(driver):
    x, y = numbers("c16", 50, 7), numbers("c16", 50, 8) + 1
    f = cupola.elementwise(
        "const T* x, const T* y, T* out, double* size",
        "out[i] = (x[i] - 2.0) / y[i] + conj(x[i]); out[i] *= y[i]; size[i] = abs(x[i])",
    )
    out, size = f(cupola.to_device(x), cupola.to_device(y))
    np.testing.assert_allclose(out.get(), ((x - 2) / y + x.conj()) * y, rtol=1e-14)
    np.testing.assert_allclose(size.get(), abs(x), rtol=1e-15)


def test_the_index_counts_in_c_order(driver):
    x = np.arange(24.0).reshape(2, 3, 4)
    number = cupola.elementwise("const double* x, long long* out", "out[i] = i + n * (x[i] > 3)")
    for there, here in [(x, x), (x.T, x.T), (x[:, ::2], x[:, ::2])]:
        order = np.arange(here.size).reshape(here.shape)
        made = number(cupola.to_device(np.array(there, order="K")))
        np.testing.assert_array_equal(made.get(), order + here.size * (here > 3))


def test_fortran_order_is_kept(driver, scale):
    x = np.asfortranarray(np.arange(12, dtype="f4").reshape(3, 4))
    there = cupola.to_device(x.T).T
    made = scale(2, there)
    assert made.flags.f_contiguous and not made.flags.c_contiguous
    np.testing.assert_array_equal(made.get(), 2 * x)


def test_results_are_read_and_written_in_place(driver):
    add = cupola.elementwise(
        "const float* x, float* total, int* count", "total[i] += x[i]; ++count[i]"
    )
    total, count = cupola.ones((3, 2), np.float32), cupola.zeros((3, 2), np.int32)
    x = cupola.to_device(np.arange(2, dtype="f4"))
    assert add(x, total, count) == (total, count)
    add(x=x, total=total, count=count)
    np.testing.assert_array_equal(total.get(), np.ones((3, 2)) + 2 * np.arange(2))
    assert (count.get() == 2).all()


def test_raw_arrays_before_and_after(driver):
    reverse = cupola.elementwise(
        "raw const T* x, raw int* threads, T* out",
        "out[i] = table(x[n - 1 - i])",
        "reverse",
        preamble="__device__ T table(T x) { return x * 3; }",
        before="int done = 0;",
        after="if (threadIdx.x == 0 && blockIdx.x == 0) *threads = blockDim.x + done",
    )
    x, threads = np.arange(1000, dtype="i4"), cupola.zeros((), np.int32)
    made = reverse(cupola.to_device(x), threads, cupola.empty(1000, np.int32))
    np.testing.assert_array_equal(made.get(), x[::-1] * 3)
    assert threads.item() == 256
    twice = reverse(cupola.to_device(x[:4]), threads, size=4)
    np.testing.assert_array_equal(twice.get(), x[3::-1] * 3)


def test_structs_and_lists_of_c(driver):
    pair = np.dtype([("value", "f4"), ("index", "i4")])
    make = cupola.elementwise(
        "const float *x, const Pair other, Pair *z",
        "z[i] = Pair{x[i] + other.value, (int)i + other.index}",
        preamble="#include <cuda_fp16.h>\nstruct Pair { float value; int index; };",
        structs={"Pair": pair},
    )
    z = make(cupola.to_device(np.arange(3, dtype="f4")), np.array((0.5, 7), pair)[()])
    assert z.dtype == pair and z.get().tolist() == [(0.5, 7), (1.5, 8), (2.5, 9)]
    axpbz = cupola.elementwise(
        "float *x, float a, unsigned long int *y, pycuda::complex<float> *z",
        "z[i] = pycuda::complex<float>(a * x[i], y[i])",
        preamble="namespace pycuda { template <class T> using complex = cupola::Complex<T>; }",
        structs={"pycuda::complex<float>": np.complex64},
    )
    x, y = np.arange(4, dtype="f4"), np.arange(4, dtype="u8")
    z = cupola.empty(4, np.complex64)
    axpbz(cupola.to_device(x), 3.0, cupola.to_device(y), z)
    np.testing.assert_array_equal(z.get(), 3 * x + 1j * y)


def test_code_that_needs_pointers(driver):
    smooth = cupola.elementwise(
        "const float* x, float* out",
        "out[i] = mean(x, i, n)",
        preamble="__device__ float mean(const float* x, long long i, long long n) {\n"
        "return (x[i] + x[i + 1 < n ? i + 1 : i]) / 2; }",
        contiguous=True,
    )
    x = np.arange(12, dtype="f4").reshape(3, 4)
    expected = np.append((x.T.ravel()[:-1] + x.T.ravel()[1:]) / 2, x[-1, -1]).reshape(4, 3)
    np.testing.assert_array_equal(smooth(cupola.to_device(x).T).get(), expected)
    with pytest.raises(cupola.ArgumentValueError, match="argument out is written and not in C"):
        smooth(cupola.to_device(x), out=cupola.empty((4, 3), np.float32).T)


def test_a_prepared_call_only_launches(driver, scale):
    x = cupola.to_device(np.arange(5, dtype="f4"))
    call = scale.prepare(2, x)
    call()
    np.testing.assert_array_equal(call.results[0].get(), 2 * np.arange(5))
    call["a"] = 3.0
    with cupola.Stream() as stream:
        call(stream=stream)
    stream.synchronize()
    np.testing.assert_array_equal(call.results[0].get(), 3 * np.arange(5))
    strided = scale.prepare(2, x[::2])
    strided()
    assert strided.results[0].get().tolist() == [0, 4, 8]


def test_repeated_calls_follow_their_arguments(driver, multiply):
    shift = cupola.elementwise("T a, const T* x, T* out", "out[i] = a + x[i]", "shift")
    stream = cupola.Stream()
    for turn in range(3):
        x, y = numbers("f4", 6, turn), numbers("f4", 6, turn + 9)
        there, other = cupola.to_device(x), cupola.to_device(y)
        np.testing.assert_array_equal(multiply(there, there).get(), x * x)
        np.testing.assert_array_equal(multiply(there, other).get(), x * y)
        np.testing.assert_array_equal(multiply(there[1:], other[:-1]).get(), x[1:] * y[:-1])
        np.testing.assert_array_equal(multiply(there[::2], other[::2]).get(), x[::2] * y[::2])
        multiply(other, there, there)
        np.testing.assert_array_equal(there.get(), x * y)
        made = shift(turn, other, stream=stream)
        stream.synchronize()
        np.testing.assert_array_equal(made.get(), turn + y)
        assert shift(turn, other.astype("i4")).dtype == np.int32
    fill = cupola.elementwise("T value, T* out", "out[i] = value", "fill")
    made = [fill(value, size=2).dtype for value in (1, 2, 2**63, 3, 1.0, True, 2**63)]
    assert made == ["i8", "i8", "u8", "i8", "f8", "?", "u8"]
    for size in (2.0, 2.0):
        with pytest.raises(cupola.ArgumentTypeError, match=r"size is an integer, got 2\.0"):
            fill(1, size=size)


def test_a_repeated_call_keeps_no_array_alive(driver, multiply):
    x = cupola.zeros(100, np.float32)
    before = sys.getrefcount(x)
    for _ in range(3):
        assert sys.getrefcount(multiply(x, x)) <= 2
        assert sys.getrefcount(x) == before


def test_streams_and_captures(driver, scale):
    stream = cupola.Stream()
    x = cupola.to_device(np.arange(5, dtype="f4"), stream=stream)
    made = scale(2, x, stream=stream)
    stream.synchronize()
    assert made.get().tolist() == [0, 2, 4, 6, 8]
    out = cupola.empty(5, np.float32)
    with stream.capture() as capture:
        scale(5, x, out, stream=stream)
    capture.instantiate().launch(stream)
    stream.synchronize()
    assert out.get().tolist() == [0, 5, 10, 15, 20]


class Other:
    """An array of another library."""

    def __init__(self, array):
        self.__cuda_array_interface__ = array.__cuda_array_interface__
        self.array = array


def test_arrays_of_other_libraries(driver, multiply):
    x = cupola.to_device(np.arange(6, dtype="f4").reshape(2, 3))
    made = multiply(Other(x.T), Other(x[0, :2]))
    assert type(made) is cupola.Array
    np.testing.assert_array_equal(made.get(), x.get().T * x.get()[0, :2])
    out = Other(cupola.zeros((2, 3), np.float32))
    assert multiply(x, x, out=out) is out
    np.testing.assert_array_equal(out.array.get(), x.get() ** 2)


@pytest.mark.cpu_only("host memory is refused on a GPU")
def test_arrays_of_numpy(driver, multiply):
    x = np.arange(6, dtype="f4").reshape(2, 3)
    made = multiply(x, cupola.to_device(x))
    assert type(made) is cupola.Array
    out = np.zeros((3, 2), np.float32).T
    assert multiply(x, x, out=out) is out
    np.testing.assert_array_equal(out, x * x)
    out.flags.writeable = False
    with pytest.raises(cupola.ArgumentValueError, match=r"argument out: .* read-only"):
        multiply(x, x, out=out)
    with pytest.raises(cupola.ArgumentTypeError, match=r"takes no numpy\.ndarray"):
        multiply.prepare(x, x)


@pytest.mark.cuda_only("the CPU device takes host memory")
def test_arrays_of_numpy_are_refused_on_a_gpu(driver, multiply):
    x = np.arange(6, dtype="f4")
    with pytest.raises(cupola.ArgumentTypeError, match=r"argument y: .* cupola\.to_device\(y\)"):
        multiply(cupola.to_device(x), x)


def test_many_axes(driver, multiply):
    x = numbers("f4", (2,) * 9, 9)
    there = cupola.to_device(x)
    np.testing.assert_array_equal(multiply(there, there[::-1]).get(), x * x[::-1])
    with pytest.raises(cupola.ArgumentValueError, match=r"9 axes .* are more than 8"):
        multiply(there, there.T)


def test_offsets_of_more_than_32_bits(driver):
    number = cupola.elementwise("const T* x, T* out", "out[i] = x[i] + i", "number")
    part = cupola.empty(2**32 + 100, np.uint8)[:: 2**31 + 7]
    number(cupola.to_device(np.full(3, 7, "u1")), part)
    assert part.get().tolist() == [7, 8, 9]
    assert number(part).get().tolist() == [7, 9, 11]


def test_indices_of_more_than_32_bits(driver):
    """By the header's own functions: an array of so many elements takes too long."""
    from cupola.declare.kernel_definition import HEADER
    from cupola.makers.broadcast_layout import packed_layout

    text = """
    __global__ void find(
        long long i, const __grid_constant__ cupola::Layout<2> layout, long long* out) {
        long long found[2];
        layout.offsets(i, found);
        out[0] = found[0], out[1] = found[1], out[2] = layout.offset(1, i);
    }
    """
    find = cupola.compile(HEADER.read_text() + text)["find"]
    lengths, steps = (3, 2**31, 5), ((2**40, 8), (-16, 2**31), (4, 4))
    layout = packed_layout(list(zip(lengths, steps, strict=True)), 2)
    out = cupola.empty(3, np.int64)
    for i in (0, 5 * 2**31 - 1, 2**33 + 12345, 3 * 2**31 * 5 - 1):
        find[1, 1](i, layout, out)
        at = np.unravel_index(i, lengths)
        first, second = (
            sum(int(k) * step[j] for k, step in zip(at, steps, strict=True)) for j in (0, 1)
        )
        assert out.get().tolist() == [first, second, second]


WRONG = [
    ("floatt a, float* out", ValueError, "parameter 'floatt a': .* did you mean 'float'"),
    ("float*", ValueError, r"parameter 'float\*': expected a type and a name"),
    ("float a", ValueError, "no parameter is an array"),
    ("float* x, float* x", ValueError, "two parameters have the name 'x'"),
    ("int n, float* x", ValueError, "name 'n', which the kernel's code uses"),
    ("raw float x, float* y", ValueError, "only an array can be raw"),
    (3, TypeError, "the parameters are a text"),
]  # fmt: skip


@pytest.mark.parametrize(("parameters", "kind", "message"), WRONG)
def test_parameters_that_are_refused(parameters, kind, message):
    with pytest.raises(kind, match=message) as caught:
        cupola.elementwise(parameters, "", "wrong")
    assert isinstance(caught.value, cupola.ArgumentError)


def test_arguments_that_are_refused(driver, scale, multiply):
    x = cupola.to_device(np.arange(6, dtype="f4").reshape(2, 3))
    wrong = [
        (lambda: scale(2), "scale: argument x is missing; it is scale"),
        (lambda: scale(2, x, x, x), "takes 3 arguments, got 4"),
        (lambda: scale(2, x, b=1), "has no argument 'b'"),
        (lambda: scale(2, x, a=1), "argument a is given twice"),
        (lambda: scale(2, x, out=(x, x)), "out has 2 arrays, the results are out"),
        (lambda: scale(2, 3.0), "argument x: expected an array of a device, got float"),
        (lambda: scale(x, x), "argument a: expected a number, got a cupola.Array"),
        (lambda: scale("2", x), r"argument 0 \(a\): expected float, got a str"),
        (lambda: scale(2, x, out=x.astype("f8")), ""),
        (lambda: scale(2, x.astype("f8"), out=x), r"x: expected elements of float32 \(T\), got fl"),
        (lambda: scale(2, x, size=3), "size is for calls without arrays"),
        (lambda: scale(2, x, stream=3), "stream is a cupola.Stream or an object with"),
        (lambda: scale(2, x, out=cupola.empty(3, "f4")), r"\(3,\), but the arguments broadcast to"),
        (lambda: multiply(x, x.reshape(3, 2)), r"do not broadcast: x \(2, 3\), y \(3, 2\)"),
    ]
    for call, message in wrong:
        if not message:
            call()  # a result decides the type, and the inputs lose nothing
            continue
        with pytest.raises(cupola.ArgumentError, match=message):
            call()


def test_errors_of_the_compiler_name_the_callers_lines(driver):
    x = cupola.zeros(3, np.float32)
    body = "float y = a;\nout[i] = y * z[i]"
    with pytest.raises(
        cupola.CompileError, match=r"^broken\(2\): error: .*\"z\" is undefined"
    ) as e:
        cupola.elementwise("float a, const T* x, T* out", body, "broken")(1, x)
    assert "out[i] = y * z[i];" in e.value.log
    with pytest.raises(cupola.CompileError, match=r"^broken preamble\(3\): error"):
        cupola.elementwise("T* out", "out[i] = 1", "broken", preamble="\n\nint f( {")(x)
    with pytest.raises(cupola.CompileError, match="Pair has another size than its dtype"):
        cupola.elementwise(
            "float* out", "", preamble="struct Pair { int x; };", structs={"Pair": "f8"}
        )(x)
    with pytest.raises(cupola.CompileError, match="wrong-option"):
        cupola.elementwise("float* out", "out[i] = 1", options=["--wrong-option"])(x)


def test_options_reach_the_compiler(driver):
    made = cupola.elementwise("int* out", "out[i] = ANSWER", options=["-DANSWER=42"])(size=2)
    assert made.get().tolist() == [42, 42]


def test_a_missing_compiler_says_what_to_install(driver, monkeypatch):
    from cupola import compiler

    def missing():
        raise cupola.MissingFileError("NVRTC: pip install 'cupola[compile]'")

    monkeypatch.setattr(compiler, "nvrtc", missing)
    with pytest.raises(cupola.MissingFileError, match=r"cupola\[compile\]"):
        cupola.elementwise("int* out", "out[i] = 1", "uncompiled")(size=1)
