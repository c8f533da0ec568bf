"""Operators and ufuncs on arrays, against NumPy: every operation in every type."""

import ctypes
import warnings

import numpy as np
import pytest

import cupola
from cupola import paths

NAMES = """bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64
complex64 complex128"""
TYPES = [np.dtype(name) for name in NAMES.split()]


def special(dtype):
    """Elements at the limits of a type, and some between."""
    kind = dtype.kind
    if kind == "b":
        return np.array([True, False, True], dtype)
    if kind in "iu":
        info = np.iinfo(dtype)
        values = [0, 1, 2, 3, 5, 7, 8, 15, 31, 33, 63, 64, 100, info.max, info.max - 1, info.min]
        return np.array(values + ([-1, -2, -7, info.min + 1] if kind == "i" else []), dtype)
    if kind == "f":
        info = np.finfo(dtype)
        values = [0.0, 1.0, 0.5, 1.5, 2.5, 3.3, 1e-3, 7.0, 100.25]
        values += [np.inf, info.max, info.tiny, info.smallest_subnormal, info.eps]
        return np.array([*values, *(-value for value in values), np.nan]).astype(dtype)
    real = [0.0, 1.0, -1.5, 3.25, -0.0, 1e3, np.inf, np.nan]
    return np.array([complex(a, b) for a in real for b in real]).astype(dtype)


def pairs(first, second):
    """Each element of one with each of the other."""
    x, y = special(first), special(second)
    return np.repeat(x, len(y)), np.tile(y, len(x))


def expected(ufunc, *operands, **options):
    """NumPy's result, or the kind of error that it raises."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ufunc(*operands, **options)


def assert_same(there, here, zeros=True):
    """The same bits, except those of a NaN, which are unspecified.

    With ``zeros=False`` the sign of a zero may differ, too.
    """
    got = there.get() if isinstance(there, cupola.Array) else there
    assert got.dtype == here.dtype
    assert got.shape == here.shape
    np.testing.assert_array_equal(got, here)
    if here.dtype.kind == "f" and zeros:
        known = ~np.isnan(here)
        np.testing.assert_array_equal(np.signbit(got[known]), np.signbit(here[known]))


BINARY = """add subtract multiply divide floor_divide remainder fmod maximum minimum fmax fmin
copysign equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor
bitwise_and bitwise_or bitwise_xor left_shift right_shift"""
UNARY = """positive negative absolute fabs square reciprocal sign conjugate floor ceil trunc rint
deg2rad rad2deg degrees radians isnan isinf isfinite signbit logical_not invert sqrt"""
# The largest distance from NumPy's result, in units of its last place: both err. CUDA's guide
# says by how much its functions may, 1 to 4; as much again is left to NumPy.
REAL = {
    "exp": 4, "exp2": 4, "expm1": 4, "log": 4, "log2": 4, "log10": 4, "log1p": 4, "cbrt": 4,
    "sin": 4, "cos": 4, "tan": 6, "arcsin": 4, "arccos": 4, "arctan": 4, "sinh": 6, "cosh": 6,
    "tanh": 4, "arcsinh": 6, "arccosh": 6, "arctanh": 6, "arctan2": 6, "hypot": 5, "power": 8,
    "float_power": 8,
}  # fmt: skip
COMPLEX = """exp exp2 expm1 log log2 log10 log1p sqrt sin cos tan arcsin arccos arctan sinh cosh
tanh arcsinh arccosh arctanh absolute sign square multiply power"""


def has_loop(ufunc, dtypes):
    """Whether NumPy does the operation, in types that cupola has."""
    try:
        resolved = ufunc.resolve_dtypes((*dtypes, None))
    except TypeError:
        return False
    return all(dtype in TYPES for dtype in resolved)


def spread(dtype, seed=0, size=500):
    """Finite elements of all sizes."""
    random = np.random.default_rng(seed)
    values = random.standard_normal(size) * np.exp2(random.integers(-8, 8, size))
    if dtype.kind == "c":
        values = values + 1j * random.standard_normal(size)
    if dtype.kind == "u":
        values = np.abs(values)
    return values.astype(dtype)


def distance(got, here):
    """The largest distance of finite results, in units of the last place of NumPy's."""
    known = np.isfinite(here)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(here))
    np.testing.assert_array_equal(got[np.isinf(here)], here[np.isinf(here)])
    apart = np.abs(got[known].astype(np.float64) - here[known].astype(np.float64))
    with np.errstate(over="ignore"):
        place = np.spacing(np.maximum(np.abs(here[known]), np.finfo(here.dtype).tiny))
    return np.max(apart / place.astype(np.float64), initial=0)


@pytest.mark.parametrize("name", BINARY.split())
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_binary_operations_are_numpys(driver, name, dtype):
    ufunc = getattr(np, name)
    x, y = pairs(dtype, dtype)
    there, other = cupola.to_device(x), cupola.to_device(y)
    if not has_loop(ufunc, (dtype, dtype)):
        with pytest.raises(TypeError):
            ufunc(there, other)
        return
    here = expected(ufunc, x, y)
    if dtype.kind == "c" and name == "multiply":  # NumPy's differs with the processor
        return
    # For these functions, either zero may result.
    zeros = name not in ("maximum", "minimum", "fmax", "fmin")
    assert_same(ufunc(there, other), here, zeros)
    assert_same(ufunc(there[::-1], other[::-1]), here[::-1], zeros)  # strided
    assert_same(ufunc(there[1:], other[:-1]), expected(ufunc, x[1:], y[:-1]), zeros)  # unaligned
    assert_same(ufunc(there[3], other), expected(ufunc, x[3], y), zeros)


@pytest.mark.parametrize("name", UNARY.split())
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_unary_operations_are_numpys(driver, name, dtype):
    ufunc = getattr(np, name)
    x = special(dtype)
    if name == "reciprocal" and dtype.kind in "iu":
        x = x[x != 0]  # the reciprocal of an integer zero is undefined
    there = cupola.to_device(x)
    if not has_loop(ufunc, (dtype,)):
        with pytest.raises(TypeError):
            ufunc(there)
        return
    here = expected(ufunc, x)
    if dtype.kind == "c" and name in ("square", "sqrt", "absolute", "sign"):
        return  # below, by distance
    assert_same(ufunc(there), here)
    assert_same(ufunc(there[::-1]), here[::-1])
    assert_same(ufunc(there[1:]), here[1:])


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("dtype", [t for t in TYPES if t.kind != "c"], ids=str)
def test_functions_are_as_near_as_numpys(driver, name, dtype):
    ufunc = getattr(np, name)
    if not has_loop(ufunc, (dtype,) * ufunc.nin):
        return
    border = special(dtype)
    if name == "hypot" and dtype.kind == "f":
        border = border[np.abs(border) != np.finfo(dtype).max]  # 2 ulp more are infinite
    operands = (
        [border]
        if ufunc.nin == 1
        else [np.repeat(border, len(border)), np.tile(border, len(border))]
    )
    if name == "power" and dtype.kind in "biu":
        return  # among integers it is exact: below
    for values in (operands, [spread(dtype, seed) for seed in range(ufunc.nin)]):
        here = expected(ufunc, *values)
        got = ufunc(*map(cupola.to_device, values))
        assert got.dtype == here.dtype
        assert distance(got.get(), here) <= REAL[name]
        got = ufunc(*[cupola.to_device(value)[::-2] for value in values])
        assert distance(got.get(), here[::-2]) <= REAL[name]


@pytest.mark.parametrize("name", COMPLEX.split())
@pytest.mark.parametrize("dtype", [np.dtype("complex64"), np.dtype("complex128")], ids=str)
def test_complex_functions_are_near_numpys(driver, name, dtype):
    # In one part there may be nothing left after a cancellation, so the distance is of both.
    ufunc = getattr(np, name)
    values = [spread(dtype, seed) for seed in range(ufunc.nin)]
    if name == "power":
        values[1] = values[1] / 16
    got = ufunc(*map(cupola.to_device, values)).get()
    assert got.dtype == expected(ufunc, *values).dtype
    # NumPy's own of the same width are off by more, where differences are left.
    wide = np.complex128 if dtype == np.complex64 else np.clongdouble
    here = expected(ufunc, *[value.astype(wide) for value in values])
    known = np.isfinite(here.astype(got.dtype)) & (np.abs(here) > np.finfo(got.dtype).tiny)
    assert np.all(np.isfinite(got[known]))
    apart = np.abs(got - here)[known] / np.abs(here[known])
    assert np.max(apart) <= (512 if name == "power" else 16) * np.finfo(dtype).eps


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
@pytest.mark.parametrize("dtype", [np.dtype("float32"), np.dtype("float64")], ids=str)
def test_logarithms_of_sums(driver, name, dtype):
    ufunc = getattr(np, name)
    x, y = pairs(dtype, dtype)
    here, got = expected(ufunc, x, y), ufunc(cupola.to_device(x), cupola.to_device(y)).get()
    # Near zero the result is what two larger numbers leave, so it is the place of these.
    np.testing.assert_allclose(got, here, rtol=8 * np.finfo(dtype).eps, atol=np.finfo(dtype).eps)


@pytest.mark.parametrize("to", TYPES, ids=str)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_casts_are_numpys(driver, dtype, to):
    x = special(dtype)
    if dtype.kind in "fc" and to.kind in "iu":  # beyond the range, undefined
        low, high = (0, 127) if to.kind == "u" else (-128, 127)
        x = np.array([0, 1.5, 100.99, 127, -1.5, -128], dtype)
        x = x[(x.real >= low) & (x.real <= high)]
    here = expected(lambda values: values.astype(to), x)
    there = cupola.to_device(x)
    assert_same(there.astype(to), here)
    assert_same(there[::-1].astype(to), here[::-1])


@pytest.mark.parametrize("to", ["i1", "u2", "i4", "u4", "f2", "f4"])
@pytest.mark.parametrize("dtype", ["?", "u1", "i2", "i4", "u4", "f2", "f4"])
def test_casts_of_few_bytes_take_any_number_and_alignment(driver, dtype, to):
    host = np.arange(2054).astype(dtype) if dtype == "?" else (np.arange(2054) % 127).astype(dtype)
    there = cupola.to_device(host)
    for begin, end in [(0, 2048), (0, 2054), (8, 2055), (3, 19), (1, 2), (0, 0)]:
        assert_same(there[begin:end].astype(to), host[begin:end].astype(to))


@pytest.mark.parametrize("first", TYPES, ids=str)
@pytest.mark.parametrize("second", TYPES, ids=str)
def test_types_are_promoted_as_numpy_does(driver, first, second):
    x, y = special(first)[:3], special(second)[:3]
    there, other = cupola.to_device(x), cupola.to_device(y)
    for name in ("add", "multiply", "divide", "less", "equal", "logical_and", "maximum"):
        ufunc = getattr(np, name)
        if name == "divide" and "c" in (first.kind, second.kind):
            continue
        here = expected(ufunc, x, y)
        assert_same(ufunc(there, other), here)


def test_integers_of_both_signs_are_compared_exactly(driver):
    x = np.array([-1, 0, 1, 2**63 - 1, -(2**63)], np.int64)
    y = np.array([0, 2**64 - 1, 1, 2**63 - 1, 2**63], np.uint64)
    x, y = np.repeat(x, len(y)), np.tile(y, len(x))
    there, other = cupola.to_device(x), cupola.to_device(y)
    for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
        ufunc = getattr(np, name)
        assert_same(ufunc(there, other), ufunc(x, y))
        assert_same(ufunc(other, there), ufunc(y, x))


SCALARS = [
    True, 0, 1, 3, -2, 100, 0.5, -1e300, float("nan"), 2j,
    np.bool_(True), np.int8(-3), np.uint8(200), np.int64(5), np.uint64(2**63), np.float16(0.1),
    np.float32(0.1), np.float64(0.1), np.complex64(1j), np.array(7, np.int32),
]  # fmt: skip


@pytest.mark.parametrize("value", SCALARS, ids=repr)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_numbers_beside_arrays_are_numpys(driver, dtype, value):
    x = special(dtype)
    there = cupola.to_device(x)
    kinds = (dtype.kind, np.asarray(value).dtype.kind)
    for name in ("add", "subtract", "multiply", "floor_divide", "less", "not_equal", "maximum"):
        ufunc = getattr(np, name)
        if name in ("multiply", "floor_divide") and "c" in kinds:
            continue
        for here, away in (((x, value), (there, value)), ((value, x), (value, there))):
            try:
                result = expected(ufunc, *here)
            except (TypeError, OverflowError) as error:
                kind = TypeError if isinstance(error, TypeError) else OverflowError
                with pytest.raises(kind):
                    ufunc(*away)
                continue
            zeros = name != "maximum"
            assert_same(ufunc(*away), result, zeros)
            turned = [a[::-1] if a is there else a for a in away]
            assert_same(ufunc(*turned), result[::-1], zeros)


@pytest.mark.parametrize("value", [300, -1, 2**70, -(2**70)])
def test_numbers_beyond_a_type(driver, value):
    x = np.array([0, 5, 255], np.uint8)
    there = cupola.to_device(x)
    with pytest.raises(OverflowError, match="out of bounds for uint8"):
        there + value
    for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
        ufunc = getattr(np, name)
        assert_same(ufunc(there, value), ufunc(x, value))
        assert_same(ufunc(value, there), ufunc(value, x))


def test_every_half(driver):
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    there = cupola.to_device(x)
    with np.errstate(all="ignore"):
        for ufunc in (np.sqrt, np.reciprocal, np.sign, np.absolute, np.isnan, np.isfinite):
            assert_same(ufunc(there), ufunc(x))
            assert_same(ufunc(there[1:]), ufunc(x[1:]))


@pytest.fixture(scope="module")
def library():
    found = ctypes.CDLL(paths.library())
    found.cupola_operation_name.restype = ctypes.c_char_p
    found.cupola_last_error.restype = ctypes.c_char_p
    return found


def test_the_table_of_operations(library):
    names = [library.cupola_operation_name(index) for index in range(200)]
    names = names[: names.index(None)]
    assert {b"add", b"less", b"sin"} <= set(names)
    for name in set(names):
        assert isinstance(getattr(np, name.decode()), np.ufunc)
        done = [library.cupola_operation(name, element) for element in range(-1, 17)]
        assert max(done) >= 0
        assert done[0] == done[1] == done[-1] == done[-2] == -1
    assert library.cupola_operation(b"bitwise_and", 11) == -1
    assert library.cupola_operation(b"nothing", 11) == -1
    # A kernel for bool exists exactly where NumPy has a loop from bool to bool. The exceptions are
    # positive, which NumPy lacks, and floor, ceil and trunc: they take bool only since NumPy 2.1.
    for name in set(names):
        ufunc = getattr(np, name.decode())
        is_done = library.cupola_operation(name, 1) >= 0
        assert is_done == any(set(loop) == set("?->") for loop in ufunc.types) or (
            name in (b"positive", b"floor", b"ceil", b"trunc")
        )
    assert library.cupola_operation(None, 11) == -1


def test_what_has_no_kernel_is_refused_by_the_library(driver, library):
    x = cupola.zeros(4, np.float32)
    address, stream = ctypes.c_uint64(x.address), ctypes.c_void_p()
    bits = library.cupola_operation(b"bitwise_and", 4)
    for operation, element in ((bits, 11), (-1, 11), (10**6, 11), (bits, 0), (bits, 99)):
        status = library.cupola_elementwise_flat(
            operation, element, address, address, address, None, ctypes.c_size_t(4), stream, 0
        )
        assert status == 4  # CUPOLA_ERROR_TYPE
        assert b"not supported" in library.cupola_last_error()
    add = library.cupola_operation(b"add", 11)
    status = library.cupola_elementwise_flat(
        add, 11, address, address, address, None, ctypes.c_size_t(4), None, 0
    )
    assert status == 3  # CUPOLA_ERROR_VALUE
    assert b"stream is NULL" in library.cupola_last_error()


@pytest.mark.cpu_only(reason="the manual leaves the sign of a NaN of f64 open")
def test_an_invalid_operation_makes_the_same_nan_on_each_processor():
    zero = cupola.to_device(np.array([0.0, -0.0]))
    infinite = cupola.to_device(np.array([np.inf, -np.inf]))
    found = [infinite - infinite, zero * infinite, zero / zero, np.sqrt(infinite - 1)]
    words = [array.get().view(np.uint64) for array in found]
    words[-1] = words[-1][1:]  # of a negative number
    assert {hex(word) for part in words for word in part} == {"0xfff8000000000000"}
    given = cupola.to_device(np.array([np.nan, 1.0]))
    assert (given + 1).get().view(np.uint64)[0] == 0x7FF8000000000000  # an operand's stays
