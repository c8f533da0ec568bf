"""Structs by their fields: arguments and variables, and what is refused."""

import collections
import ctypes
import re
import types

import images
import numpy as np
import pytest
from test_arguments import BOX, BOXES, Box
from working import refused, refused_argument

import cupola
from cupola.core.struct_guess import line_for, number_line
from cupola.core.struct_values import difference, packed

Named = collections.namedtuple("Named", "c a b")
VALUES = {
    "dict": {"a": -5, "b": 0.25, "c": 1e300},
    "dict in another order": {"c": 1e300, "b": np.float32(0.25), "a": np.int8(-5)},
    "mapping": types.MappingProxyType({"a": -5, "b": 0.25, "c": 1e300}),
    "tuple": (-5, 0.25, 1e300),
    "named tuple": Named(1e300, -5, 0.25),
}
# The fields, and the words that the error has.
WRONG = {
    "missing": ({"a": 1, "b": 2.0}, TypeError, "without c"),
    "unknown": ({"a": 1, "b": 2.0, "d": 3.0}, TypeError, "unknown d"),
    "empty": ({}, TypeError, "without a, b, c"),
    "short": ((1, 2.0), TypeError, "a tuple of 2"),
    "float for an int": ({"a": 1.5, "b": 2.0, "c": 3.0}, TypeError, "a: expected int32, got 1.5"),
    "text": ({"a": 1, "b": "2", "c": 3.0}, TypeError, "b: expected float32"),
    "None": ((None, 2.0, 3.0), TypeError, "a: expected int32"),
    "complex": ((1, 2j, 3.0), TypeError, "b: expected float32"),
    "large int": ((2**31, 2.0, 3.0), ValueError, "-2147483648 to 2147483647"),
    "huge int": ((2**70, 2.0, 3.0), cupola.ArgumentError, "a: "),
    "large float": ((1, 1e300, 3.0), ValueError, "b: 1e+300 is out of the range of float32"),
    "array": (([1, 2], 2.0, 3.0), ValueError, "a: expected one number"),
}


@pytest.fixture
def described(driver):
    return images.module("described")


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_arguments_by_their_fields(described, value):
    out = cupola.empty(3, np.float64)
    described["unpack"][1, 1](value, out)
    np.testing.assert_array_equal(out.get(), [-5, 0.25, 1e300])


@pytest.mark.parametrize(("value", "error", "text"), WRONG.values(), ids=WRONG)
def test_wrong_fields_of_arguments(described, value, error, text):
    out = cupola.empty(3, np.float64)
    got = (text, "kernel.params[0].dtype")
    refused_argument(described["unpack"], 0, value, out, error=error, name="box", got=got)


@pytest.mark.parametrize("value", [VALUES["dict"], VALUES["mapping"]])
def test_the_line_to_write_where_no_manifest_has_the_fields(driver, value):
    kernel, out = images.module("ptx")["unpack"], cupola.empty(3, np.float64)
    sources = ["the manifest of a package", "options=['-G']", "declaration", "This is a guess by"]
    with refused(cupola.ArgumentTypeError, saying=["argument 0", "16 bytes", *sources]) as caught:
        kernel[1, 1](value, out)
    line = re.search(r"and pass (numpy\.array\(.*\)\[\(\)\])$", str(caught.value))[1]
    kernel[1, 1](eval(line, {"numpy": np, "value": value}), out)
    np.testing.assert_array_equal(out.get(), [-5, 0.25, 1e300])


def test_a_value_that_is_no_struct_gets_the_remedy(driver):
    kernel, out = images.module("ptx")["unpack"], cupola.empty(3, np.float64)
    for value in (5, 0.5, "text", b"short"):
        with refused(cupola.ArgumentError, saying=["argument 0", "ctypes structure or bytes of"]):
            kernel[1, 1](value, out)


def test_lines_make_structs_of_the_size():
    for value, size in [
        ((1, 2.0), 8),
        (Named(1.0, 2, 3.0), 12),
        ((1, 2.0), 16),
        ((0.5, 3), 16),  # a double and an int would leave padding at the end
        ({"n": 1, "x": 2.0, "m": 3}, 24),
    ]:
        assert eval(line_for(value, size), {"numpy": np, "value": value}).nbytes == size
    for value in (
        tuple(range(50)), {"ragged": [1, [2]]}, ("text", 1), (None, 1), ([{"a": 1}, {"b": 2}],)
    ):  # fmt: skip
        assert line_for(value, 8) is None


def test_no_line_has_padding_at_its_end():
    value = {"x": np.float64(1.0), "n": np.int32(2)}
    assert line_for(value, 16) is None and line_for(({"a": value, "b": 1.5},), 40) is None


class Renamed(ctypes.Structure):
    _fields_ = (("b", ctypes.c_int), ("a", ctypes.c_float), ("c", ctypes.c_double))


NAMES = {
    "swapped": np.zeros((), [("b", "i4"), ("a", "f4"), ("c", "f8")])[()],
    "one elsewhere": np.zeros((), [("b", "i4"), ("x", "f4"), ("c", "f8")])[()],
    "ctypes": Renamed(1, 2.0, 3.0),
}


@pytest.mark.parametrize("value", NAMES.values(), ids=NAMES)
def test_fields_whose_name_is_elsewhere_are_refused(described, value):
    kernel, out = described["unpack"], cupola.empty(3, np.float64)
    for _ in range(2):
        refused_argument(kernel, 0, value, out, error=TypeError, got="b is at 0")
    with refused(cupola.ArgumentTypeError, saying=["settings", "b is at 0"]):
        described.globals["settings"].set(value)


def test_names_that_the_struct_lacks_are_the_callers(described):
    out = cupola.empty(3, np.float64)
    for dtype in ("i4,f4,f8", [("x", "i4"), ("y", "f4"), ("z", "f8")]):
        described["unpack"][1, 1](np.array((-5, 0.25, 1e300), dtype)[()], out)
        np.testing.assert_array_equal(out.get(), [-5, 0.25, 1e300])
    inner = [
        np.dtype([("in", [("x", "i4"), ("y", "i4")])]),
        np.dtype([("in", [("y", "i4"), ("x", "i4")])]),
    ]
    assert "in.x is at 0" in difference(*inner)


@pytest.mark.parametrize(
    ("value", "size", "line"),
    [
        (7, 4, "numpy.int32(7)"),
        (7, 8, "numpy.int64(7)"),
        (0.5, 8, "numpy.float64(0.5)"),
        (True, 1, "numpy.bool_(True)"),
        ([1, 2], 8, "numpy.array(value, numpy.int32)"),
        ([0.5, 2], 4, "numpy.array(value, numpy.float16)"),
        ("7", 4, "numpy.array(value, dtype) with"),
        (0.5, 3, "numpy.array(value, dtype) with"),
        ([[1], [2, 3]], 8, "numpy.array(value, dtype) with"),
    ],
)
def test_lines_for_numbers(value, size, line):
    assert number_line(value, size).startswith(line)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        ({"n": 1, "grid": {"x": 1.0, "y": 2.0}}, [("n", "i4"), ("grid", "f4,f4")]),
        ({"n": 1, "w": [1.0, 2.0, 3.0]}, [("n", "i4"), ("w", "f4", (3,))]),
        ({"n": 1, "w": [[1.0, 2.0], [3.0, 4.0]]}, [("n", "i4"), ("w", "f4", (2, 2))]),
        ({"n": 1, "w": [1.0, 2.0]}, [("n", "i4"), ("w", "f8", (2,))]),
        ({"n": 1, "dt": np.float64(0.5)}, [("n", "i4"), ("dt", "f8")]),
        ({"flag": True, "w": np.arange(3.0)}, [("flag", "?"), ("w", "f8", (3,))]),
        ({"dt": 0.5, "dx": 0.25}, "f8,f8"),
        ({"a": -5, "b": 0.25, "c": 1e300}, "i4,f4,f8"),
        ({"a": 1, "b": 0.25, "c": 0.5, "n": 2**40}, [("a", "i4"), ("b", "f4"), ("c", "f4"),
                                                    ("n", "i8")]),
        ((1, (2.0, 3), [4, 5]), [("f0", "i4"), ("f1", "f4,i4"), ("f2", "i4", (2,))]),
        ({"cells": [{"a": 1, "b": 2.0}, {"a": 3, "b": 4.0}], "n": 7},
         [("cells", "i4,f4", (2,)), ("n", "i4")]),
        ({"a": {"b": {"c": [1, 2], "d": 0.5}}, "e": (1.0, {"f": 2})},
         [("a", [("b", [("c", "i4", (2,)), ("d", "f8")])]), ("e", [("x", "f4"), ("y", "i4")])]),
    ],
    ids=lambda one: str(one)[:30],
)  # fmt: skip
def test_lines_make_nested_structs_and_arrays(value, dtype):
    wanted = np.dtype(dtype, align=True)
    made = eval(line_for(value, wanted.itemsize), {"numpy": np, "value": value})
    assert difference(made.dtype, wanted) == "" and made.nbytes == wanted.itemsize
    if isinstance(value, dict):
        assert made.dtype.names == tuple(value)
    assert str(made.tolist()) == str(packed(value, made.dtype).tolist())


class Turned(ctypes.Structure):
    _fields_ = (("b", ctypes.c_float), ("a", ctypes.c_int), ("c", ctypes.c_double))


def test_structs_of_another_layout_are_refused(described):
    kernel, out = described["unpack"], cupola.empty(3, np.float64)
    turned = np.zeros((), np.dtype("f4,i4,f8"))[()]
    for value in (Turned(0.25, -5, 1.0), turned):
        for _ in range(2):
            refused_argument(kernel, 0, value, out, error=TypeError, got="in which")
    kernel[1, 1](Box(-5, 0.25, 1e300), out)
    np.testing.assert_array_equal(out.get(), [-5, 0.25, 1e300])


INNER = np.dtype([("x", "f4"), ("n", "u1", (2,))], align=True)
OUTER = np.dtype([("inner", INNER), ("many", INNER, (2,)), ("k", "i8"), ("raw", "V4")], align=True)


def test_structs_in_structs():
    one = {"x": 1.5, "n": [1, 2]}
    made = packed({"inner": one, "many": [one, (2.5, (3, 4))], "k": -1, "raw": b"abcd"}, OUTER)
    assert made["inner"].tobytes() == made["many"][0].tobytes()
    assert made["many"][1]["x"] == 2.5 and made["many"]["n"][1].tolist() == [3, 4]
    assert made["k"] == -1 and made["raw"].tobytes() == b"abcd"
    for wrong, text in [
        ({"inner": one, "many": [one], "k": 1, "raw": b""}, "many: expected 2 structs"),
        ({"inner": 5, "many": [one, one], "k": 1, "raw": b""}, "inner: expected a mapping"),
        ({"inner": {"x": 1.0}, "many": [one, one], "k": 1, "raw": b""}, "inner: expected the"),
        (({"x": 1.0, "n": [1, 256]}, [one, one], 1, b""), "inner.n: expected 0 to 255"),
        ((one, [one, {"x": 1.0, "n": 1}], 1, b""), r"many\[1\].n: expected the shape \(2,\)"),
    ]:
        with pytest.raises(cupola.ArgumentError, match=text):
            packed(wrong, OUTER)


@pytest.mark.parametrize("value", [*VALUES.values(), *BOXES.values()], ids=[*VALUES, *BOXES])
def test_variables_by_their_fields(described, value):
    module = cupola.load(images.described())
    settings, boxes, out = module.globals["settings"], module.globals["boxes"], cupola.zeros(3)
    assert settings.dtype == BOX == boxes.dtype
    settings.set(value)
    if isinstance(value, (dict, tuple)):
        boxes.set((value, value))
    module["open_boxes"][1, 1](out)
    several = 1e300 if isinstance(value, (dict, tuple)) else 0.0
    np.testing.assert_array_equal(out.get(), [1e300, several, several])


@pytest.mark.parametrize(("value", "error", "text"), WRONG.values(), ids=WRONG)
def test_wrong_fields_of_variables(described, value, error, text):
    with refused(cupola.ArgumentError, error, saying=["settings", text]):
        described.globals["settings"].set(value)


def test_variables_of_another_layout_are_refused(described):
    with refused(cupola.ArgumentTypeError, saying=["settings", "in which"]):
        described.globals["settings"].set(np.zeros((), "f4,i4,f8"))


def test_variables_whose_fields_are_unknown(driver):
    settings = cupola.load(images.ptx()).globals["settings"]
    assert settings.dtype is None
    value = VALUES["dict"]
    with refused(cupola.ArgumentTypeError, saying=["settings", "16 bytes"]) as caught:
        settings.set(value)
    line = re.search(r"and pass (numpy\.array\(.*\)\[\(\)\])$", str(caught.value))[1]
    settings.set(eval(line, {"numpy": np, "value": value}))
    assert settings.get(BOX).tolist() == [(-5, 0.25, 1e300)]


SOURCE = r"""
struct Inner { float x; int k[2]; };
struct Outer { int a; Inner in; double c; };
union Either { int i; float f; };
namespace inside { template <class T> struct Pair { T first, second; }; __device__ short count; }
__constant__ Outer settings;
__device__ Inner several[2];
__device__ float table[2][3];
extern "C" __global__
void f(Outer o, Either e, inside::Pair<short> p, const Outer* more, float* x) {
    x[0] = o.a + o.in.x + o.in.k[1] + o.c + p.second + e.i;
    x[1] = settings.in.k[0] + several[1].x + table[1][2] + inside::count;
}
__global__ void unused(Inner in, int never, float* x) { x[0] = in.x; }
"""


@pytest.mark.parametrize("several", [False, True])
def test_debug_information_has_the_fields(driver, several, tmp_path):
    images.nvrtc()
    (tmp_path / "a.cu").write_text(SOURCE)
    sources = tmp_path / "a.cu" if not several else [tmp_path / "a.cu", "__device__ int other;"]
    modules = [cupola.compile(sources, options=["-G"])]
    modules += [cupola.load(tmp_path / "a.cu", options=["--device-debug"])]
    for module in modules:
        inner = {"x": 0.5, "k": [3, 4]}
        module.globals["settings"].set({"a": 1, "in": inner, "c": 2.0})
        assert module.globals["settings"].get().tolist()[0] == 1
        module.globals["several"].set([inner, (8.0, (5, 6))])
        with refused(cupola.ArgumentValueError, saying=("table", "(2, 3)", "(3, 2)")):
            module.globals["table"].set(np.zeros((3, 2), np.float32))
        module.globals["table"].set([[1, 2, 3], [4, 5, 6]])
        out = cupola.zeros(2, np.float32)
        module["f"][1, 1](
            {"a": 100, "in": inner, "c": 1000}, np.int32(0).tobytes(), (7, 9), None, out
        )
        assert out.get().tolist() == [100 + 0.5 + 4 + 1000 + 9, 3 + 8 + 6]
        with refused(cupola.ArgumentTypeError, saying=("o", "without in")):
            module["f"][1, 1]({"a": 1, "c": 2}, bytes(4), (7, 9), None, out)
        module["unused"][1, 1]((2.5, [1, 2]), 3, out)
        assert out.get()[0] == 2.5


def test_without_debug_information_the_error_names_the_option(driver):
    images.nvrtc()
    module = cupola.compile(SOURCE)
    with refused(cupola.ArgumentTypeError, saying=("options=['-G']", "numpy.array(")):
        module.globals["settings"].set({"a": 1, "in": {"x": 1.0, "k": [1, 2]}, "c": 2.0})
    with refused(cupola.ArgumentTypeError, saying=("options=['-G']", "numpy.array(")):
        module["unused"][1, 1]({"x": 1.0, "k": [1, 2]}, 3, cupola.zeros(1, np.float32))
