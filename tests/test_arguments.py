"""Numbers and structs as arguments, against NumPy and struct; and what is refused."""

import ctypes
import fractions
import struct

import images
import numpy as np
import pytest
from working import refused, refused_argument

import cupola

INTEGERS = {
    "signed char": np.int8,
    "unsigned char": np.uint8,
    "short": np.int16,
    "unsigned short": np.uint16,
    "int": np.int32,
    "unsigned int": np.uint32,
    "long long": np.int64,
    "unsigned long long": np.uint64,
}
FLOATS = {"__half": np.float16, "float": np.float32, "double": np.float64}
NUMBERS = {**INTEGERS, **FLOATS}


@pytest.fixture(params=images.CHECKED)
def module(driver, request):
    return images.module(request.param)


def store(module, type_name):
    return module[f"store<{type_name}>"]


def stored(module, type_name, value):
    """The value that the kernel receives, as a NumPy scalar."""
    out = cupola.zeros((), NUMBERS[type_name])
    store(module, type_name)[1, 1](out, value)
    return out.get()[()]


@pytest.mark.parametrize(("type_name", "dtype"), INTEGERS.items(), ids=INTEGERS)
def test_int_limits(module, type_name, dtype):
    limits = np.iinfo(dtype)
    for value in (limits.min, limits.min + 1, 0, 1, limits.max - 1, limits.max):
        assert int(stored(module, type_name, value)) == value
    kernel, out = store(module, type_name), cupola.empty((), dtype)
    for value in (limits.min - 1, limits.max + 1, -(2**64), 2**64, 2**200, -(2**200)):
        got = "out of its range" if abs(value) < 2**63 else "range"
        refused_argument(kernel, 1, out, value, error=ValueError, got=got)


@pytest.mark.parametrize("value", [True, False, np.True_, np.False_, 0, 1])
def test_bool_parameter(module, value):
    out = cupola.empty((), np.bool_)
    store(module, "bool")[1, 1](out, value)
    assert out.get()[()] == bool(value)


@pytest.mark.parametrize("value", [2, -1, 255, 256])
def test_no_other_number_is_a_bool(module, value):
    out = cupola.empty((), np.bool_)
    refused_argument(store(module, "bool"), 1, out, value, error=ValueError, got=str(value))


@pytest.mark.parametrize("type_name", NUMBERS)
def test_bool_is_a_number(module, type_name):
    assert stored(module, type_name, True) == 1
    assert stored(module, type_name, False) == 0


VALUES = [0.0, -0.0, 0.1, -1 / 3, 65504.0, 1e-7, 6e-8, 2.0**-149, 5e-324, 1e-45, np.inf, -np.inf]


@pytest.mark.parametrize(("type_name", "dtype"), FLOATS.items(), ids=FLOATS)
def test_float_is_rounded_once_to_the_width(module, type_name, dtype):
    rng = np.random.default_rng(3)
    for value in [*VALUES, *rng.standard_normal(20).tolist()]:
        assert stored(module, type_name, value).tobytes() == dtype(value).tobytes(), value
    assert np.isnan(stored(module, type_name, np.nan))


# The largest double that still rounds to a finite number, and the smallest that does not.
EDGES = {
    "__half": (np.nextafter(65520.0, 0), 65520.0),
    "float": (np.nextafter(2.0**128 - 2.0**103, 0), 2.0**128 - 2.0**103),
}


@pytest.mark.parametrize("type_name", EDGES)
def test_float_overflow(module, type_name):
    below, above = map(float, EDGES[type_name])
    assert stored(module, type_name, below) == np.finfo(FLOATS[type_name]).max
    out = cupola.empty((), FLOATS[type_name])
    for value in (above, -above, 1e300):
        refused_argument(store(module, type_name), 1, out, value, error=ValueError, got="range")


@pytest.mark.parametrize(
    ("value", "bits"),
    # 8 bits of mantissa with the hidden one: a tie to even, just above it, a tie to the other
    # side, the largest finite number, the smallest of all.
    [
        (1 + 2**-8, 0x3F80),
        (1 + 2**-8 + 2**-40, 0x3F81),
        (1 + 3 * 2**-8, 0x3F82),
        ((2 - 2**-7) * 2.0**127, 0x7F7F),
        (2.0**-133, 0x0001),
        (-0.0, 0x8000),
        (-np.inf, 0xFF80),
        (3, 0x4040),
    ],
)
def test_bfloat16(module, value, bits):
    out = cupola.empty((), np.uint16)
    store(module, "__nv_bfloat16")[1, 1](out, value)
    assert out.get()[()] == bits


@pytest.mark.parametrize("type_name", FLOATS)
@pytest.mark.parametrize("value", [0, 1, -7, 2047])
def test_int_to_a_float_parameter(module, type_name, value):
    assert stored(module, type_name, value) == value


def test_large_int_to_a_float_parameter(module):
    for value in (2**53 + 1, 2**63, 2**64 - 1, 2**70, -(2**70)):
        assert stored(module, "double", value) == float(value)
    out = cupola.empty((), np.float64)
    refused_argument(store(module, "double"), 1, out, 2**1024, error=ValueError, got="range")


@pytest.mark.parametrize("type_name", INTEGERS)
@pytest.mark.parametrize("value", [1.0, 0.0, float("nan"), np.float32(2), np.float64(2), 1j])
def test_no_float_becomes_an_integer(module, type_name, value):
    out = cupola.empty((), INTEGERS[type_name])
    refused_argument(store(module, type_name), 1, out, value, error=TypeError)


SCALARS = [np.dtype(code).type for code in "?bBhHiIlLqQefdgFDGMm"]


@pytest.mark.parametrize("scalar", SCALARS, ids=lambda s: s.__name__)
@pytest.mark.parametrize("type_name", NUMBERS)
def test_numpy_scalars_by_same_kind(module, scalar, type_name):
    dtype = NUMBERS[type_name]
    # Stricter and looser than NumPy in one point: between integers the value decides.
    both_integers = np.dtype(scalar).kind in "iu" and np.dtype(dtype).kind in "iu"
    value = scalar(1, "s") if scalar in (np.datetime64, np.timedelta64) else scalar(1)
    if both_integers or np.can_cast(scalar, dtype, "same_kind"):
        assert stored(module, type_name, value) == 1
        assert stored(module, type_name, np.array(value)) == 1  # 0-d arrays are scalars
    else:
        out = cupola.empty((), dtype)
        refused_argument(store(module, type_name), 1, out, value, error=TypeError)


def test_numpy_integers_are_checked_like_ints(module):
    cases = {"unsigned int": np.int64(-1), "signed char": np.uint8(128), "int": np.uint32(2**31)}
    cases |= {"long long": np.uint64(2**63), "short": np.int32(-32769)}
    for type_name, value in cases.items():
        out = cupola.empty((), INTEGERS[type_name])
        refused_argument(
            store(module, type_name), 1, out, value, error=ValueError, got=str(int(value))
        )


def test_subclasses_and_ctypes_scalars(module):
    class Integer(int):
        pass

    class Index:
        def __index__(self):
            return 41

    assert stored(module, "int", Integer(40)) == 40
    assert stored(module, "int", Index()) == 41
    assert stored(module, "int", ctypes.c_int(-42)) == -42
    assert stored(module, "float", ctypes.c_float(0.5)) == 0.5
    out = cupola.empty((), np.int32)
    refused_argument(store(module, "int"), 1, out, ctypes.c_double(1), error=TypeError)


BOX = np.dtype([("a", "<i4"), ("b", "<f4"), ("c", "<f8")])


class Box(ctypes.Structure):
    _fields_ = (("a", ctypes.c_int), ("b", ctypes.c_float), ("c", ctypes.c_double))


PACKED = struct.pack("<ifd", -5, 0.25, 1e300)
BOXES = {
    "numpy scalar": np.array([(-5, 0.25, 1e300)], BOX)[0],
    "numpy 0-d": np.array((-5, 0.25, 1e300), BOX),
    "ctypes": Box(-5, 0.25, 1e300),
    "bytes": PACKED,
}


@pytest.mark.parametrize("value", BOXES.values(), ids=BOXES)
def test_struct_by_value(module, value):
    out = cupola.empty(3, np.float64)
    module["unpack"][1, 1](value, out)
    np.testing.assert_array_equal(out.get(), [-5, 0.25, 1e300])


@pytest.mark.parametrize("value", [bytes(range(5)), (ctypes.c_ubyte * 5)(*range(5))])
def test_struct_of_odd_size(module, value):
    out = cupola.empty(5, np.int32)
    module["odd"][1, 1](value, out)
    np.testing.assert_array_equal(out.get(), range(5))


@pytest.mark.parametrize(
    "value", [PACKED[:-1], PACKED + b"\0", b"", np.zeros((), "i4,f4")[()], (ctypes.c_int * 3)()]
)
def test_struct_of_wrong_size(module, value):
    out = cupola.empty(3, np.float64)
    kernel = module["unpack"]
    size = len(bytes(value))
    refused_argument(kernel, 0, value, out, error=ValueError, got=("16 bytes", f"{size} bytes"))


@pytest.mark.parametrize(
    "value", [1, 1.0, None, "abcdefghijklmnop", [1, 0.5], {}, bytearray(PACKED)]
)
def test_what_is_no_struct(module, value):
    out = cupola.empty(3, np.float64)
    refused_argument(module["unpack"], 0, value, out, error=TypeError, got="16 bytes")


@pytest.mark.parametrize("value", [b"\1\0\0\0", PACKED, np.zeros((), BOX)[()], Box()])
def test_a_known_number_is_not_taken_from_bytes(driver, value):
    out = cupola.empty((), np.int32)
    refused_argument(images.module()["store<int>"], 1, out, value, error=TypeError)


@pytest.mark.parametrize("value", ["1", fractions.Fraction(1, 2), object(), [1], (1,), {}, None])
def test_what_is_no_number(module, value):
    out = cupola.empty((), np.int32)
    refused_argument(store(module, "int"), 1, out, value, error=TypeError)


def test_too_many_and_too_few(module):
    kernel, out = store(module, "int"), cupola.empty((), np.int32)
    for arguments in [(), (out,), (out, 1, 2), (out, 1, None, None)]:
        with refused(cupola.ArgumentError, TypeError) as caught:
            kernel[1, 1](*arguments)
        text = str(caught.value)
        assert text.startswith(f"{kernel.title}: takes 2 arguments")
        assert text.endswith(f"got {len(arguments)}")


def test_names_are_in_the_text_where_they_are_known(driver):
    kernel = images.module("described")["axpy"]
    x = cupola.zeros(4, np.float32)
    refused_argument(kernel, 0, "2", x, x, x, 4, error=TypeError, name="a", got="str")
    refused_argument(kernel, 4, 2.0, x, x, x, 4.0, error=TypeError, name="n", got="float 4")
    refused_argument(kernel, 4, 2.0, x, x, x, -1, error=ValueError, name="n", got="-1")
    refused_argument(kernel, 3, 2.0, x, x, 0.5, 4, error=TypeError, name="out", got="float")
    with refused(TypeError, saying=("takes 5 arguments", "a: ", "x: ", "y: ", "out: ", "n: ")):
        kernel[1, 1](2.0)


def test_eighty_parameters(module):
    rng = np.random.default_rng(4)
    values = rng.integers(-(2**31), 2**31, 80).tolist()
    out = cupola.empty((), np.uint32)
    module["eighty"][1, 1](*values, out)
    expected = 0
    for value in values:
        expected = (3 * expected + value) % 2**32
    assert out.get()[()] == expected
    values[77] = "0.5"
    refused_argument(module["eighty"], 77, *values, out, error=TypeError)


def test_four_kilobytes_of_parameters(module):
    values = np.arange(-500, 522, dtype=np.int32)
    out = cupola.empty((), np.uint32)
    kernel = module["large"]
    assert sum(one.size for one in kernel.params) == 4096
    kernel[1, 1](values.tobytes(), out)
    expected = int((np.arange(1, 1023) * values.astype(np.int64)).sum()) % 2**32
    assert out.get()[()] == expected
    launch = kernel.prepare(1, 1, values.tobytes(), out)
    launch[0] = (-values).tobytes()
    launch()
    assert out.get()[()] == -expected % 2**32


@pytest.mark.parametrize("form", ["ptx", "described"])
def test_numbers_of_ml_dtypes(driver, form):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    module = images.module(form)
    for value in (0.0, -2.5, 3.140625, float("inf"), 2.0**-130):
        number = ml_dtypes.bfloat16(value)
        out = cupola.zeros(1, ml_dtypes.bfloat16)
        module["store<__nv_bfloat16>"][1, 1](out, number)
        assert out.get().tobytes() == number.tobytes()
        wide = cupola.zeros(1, np.float32)
        module["store<float>"][1, 1](wide, number)
        assert wide.get()[0] == np.float32(number)
    refused_argument(
        module["store<int>"], 1, cupola.zeros(1, np.int32), ml_dtypes.bfloat16(1), error=TypeError
    )


def test_a_float_for_an_integer_names_the_conversion(driver):
    x = cupola.zeros(8, np.float32)
    axpy = images.module("described")["axpy"]
    with pytest.raises(
        cupola.ArgumentTypeError, match=r"\(n\): expected unsigned int, got .*; pass int\(x\)"
    ):
        axpy[1, 8](2.0, x, x, x, 8.0)
