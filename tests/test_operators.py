"""Python's operators on arrays, NumPy's ufunc protocol, and how arrays are shown."""

import enum
import operator
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from test_elementwise import assert_same

import cupola

BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow, operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
]  # fmt: skip
BITS = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]
IN_PLACE = [
    operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv,
    operator.imod, operator.ipow,
]  # fmt: skip
BITS_IN_PLACE = [operator.iand, operator.ior, operator.ixor, operator.ilshift, operator.irshift]


@pytest.mark.parametrize("operation", BINARY + BITS, ids=lambda f: f.__name__)
def test_operators_are_numpys(driver, operation):
    dtype = np.int32 if operation in BITS else np.float64
    a, b = np.arange(1, 13, dtype=dtype).reshape(3, 4), np.array([3, 1, 2, 5], dtype)
    x, y = cupola.to_device(a), cupola.to_device(b)
    for left, right, here in (
        (x, y, operation(a, b)),
        (y, x, operation(b, a)),
        (x, 3, operation(a, 3)),
        (3, x, operation(3, a)),
        (x, np.int32(2), operation(a, np.int32(2))),
        (np.int32(2), x, operation(np.int32(2), a)),
    ):
        if operation is operator.pow:
            np.testing.assert_allclose(operation(left, right).get(), here, rtol=1e-14)
        else:
            assert_same(operation(left, right), here)


@pytest.mark.parametrize("operation", IN_PLACE + BITS_IN_PLACE, ids=lambda f: f.__name__)
def test_in_place_operators_write_where_the_array_is(driver, operation):
    dtype = np.int32 if operation in BITS_IN_PLACE else np.float64
    a, b = np.arange(1, 13, dtype=dtype).reshape(3, 4), np.array([3, 1, 2, 5], dtype)
    x = cupola.to_device(a)
    before = x.address
    for other, here in ((cupola.to_device(b), b), (2, 2)):
        a, x = operation(a, here), operation(x, other)
        assert x.address == before
        np.testing.assert_allclose(x.get(), a, rtol=1e-14)
    # A view's elements alone.
    a[::2, 1:] = operation(a[::2, 1:], 3)
    view = x[::2, 1:]
    view = operation(view, 3)
    np.testing.assert_allclose(x.get(), a, rtol=1e-14)


def test_unary_operators(driver):
    a = np.array([-2.5, 0.0, 3.0], np.float32)
    x = cupola.to_device(a)
    assert_same(-x, -a)
    assert_same(+x, +a)
    assert_same(abs(x), abs(a))
    b = np.array([0, 5, -7], np.int16)
    assert_same(~cupola.to_device(b), ~b)
    c = np.array([True, False])
    assert_same(~cupola.to_device(c), ~c)
    with pytest.raises(TypeError):
        operator.invert(x)
    with pytest.raises(TypeError):
        operator.neg(cupola.to_device(c))


def test_in_place_keeps_the_dtype_or_refuses(driver):
    x = cupola.to_device(np.arange(3, dtype=np.int32))
    with pytest.raises(TypeError, match="same kind"):
        x += 0.5
    y = cupola.to_device(np.arange(3, dtype=np.float32))
    y += cupola.to_device(np.arange(3))  # NumPy adds in float64 and casts
    assert_same(y, np.arange(0, 6, 2, dtype=np.float32))
    z = cupola.to_device(np.arange(3, dtype=np.int8))
    z += cupola.to_device(np.full(3, 300))
    a = np.arange(3, dtype=np.int8)
    a += np.full(3, 300)
    assert_same(z, a)


def test_results_keep_the_order_of_axes(driver):
    a = np.arange(24.0).reshape(2, 3, 4)
    x = cupola.to_device(a)
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2), (2, 0, 1)):
        there, here = x.transpose(order), a.transpose(order)
        for got, want in ((there + there, here + here), (there * 2, here * 2), (-there, -here)):
            assert got.strides == want.strides
            assert_same(got, want)


def test_out_of_a_ufunc(driver):
    a = np.arange(6, dtype=np.float32)
    x = cupola.to_device(a)
    out = cupola.zeros(6, np.float32)
    assert np.add(x, 1, out=out) is out
    assert_same(out, a + 1)
    wide = cupola.zeros((2, 6), np.float64)
    np.multiply(x, x, out=wide)
    assert_same(wide, np.broadcast_to(a * a, (2, 6)).astype(np.float64))
    np.sin(x, out=wide[1])
    np.testing.assert_allclose(wide.get()[1], np.sin(a), rtol=1e-6)
    truth = cupola.zeros(6, bool)
    assert_same(np.less(x, 3, out=truth), a < 3)
    with pytest.raises(TypeError, match="same kind"):
        np.add(x, x, out=cupola.zeros(6, np.int32))
    with pytest.raises(ValueError, match="shape"):
        np.add(x, x, out=cupola.zeros(5, np.float32))
    with pytest.raises(TypeError, match=r"cupola\.Array"):
        np.add(x, x, out=np.zeros(6, np.float32))


def test_dtype_of_a_ufunc(driver):
    a = np.array([1, 200], np.uint8)
    x = cupola.to_device(a)
    assert_same(np.add(x, x, dtype=np.float32), np.add(a, a, dtype=np.float32))
    assert_same(np.add(x, 300, dtype=np.int32), np.add(a, 300, dtype=np.int32))
    got = np.sin(x, dtype=np.float64).get()
    np.testing.assert_allclose(got, np.sin(a, dtype=np.float64), rtol=1e-14)


def test_what_is_refused_says_what_to_do(driver):
    x = cupola.to_device(np.arange(3.0))
    for use, says in (
        (lambda: x + np.arange(3.0), "to_device"),
        (lambda: np.arange(3.0) + x, "to_device"),
        (lambda: np.add(x, x, where=np.array([True, False, True])), "where="),
        (lambda: np.add.outer(x, x), "add.outer"),
        (lambda: np.divmod(x, x), "divmod has no kernel"),
        (lambda: np.add(x, x, casting="no"), "casting="),
        (lambda: np.add(1, 2, out=x), "no operand of"),
        (lambda: np.sin(1.0, out=x), "no operand of"),
        (lambda: np.sin(np.ones(3), out=x), "to_device"),
        (lambda: np.add([1, 2, 3], 2, out=x), "unsupported|not supported|operand"),
    ):
        with pytest.raises(TypeError, match=says):
            use()
    for other in (None, "a", [1, 2], object()):
        with pytest.raises(TypeError):
            x + other
    assert x.__add__("a") is NotImplemented
    with pytest.raises(ValueError, match="broadcast"):
        x + cupola.zeros(4)
    text = cupola.zeros(3, "S4")
    with pytest.raises(TypeError, match="is not supported"):
        text + text
    x.free()
    with pytest.raises(ValueError, match="freed"):
        x + 1


def test_another_object_may_know_better(driver):
    class Other:
        def __radd__(self, left):
            return "sum"

    assert cupola.zeros(3) + Other() == "sum"


def test_arrays_of_other_libraries(driver):
    class Foreign:
        def __init__(self, array):
            self.array = array
            self.__cuda_array_interface__ = array.__cuda_array_interface__

    a = np.arange(4.0)
    x = cupola.to_device(a)
    assert_same(x + Foreign(x), a + a)
    assert_same(np.subtract(Foreign(x), x), a - a)


def test_truth_and_numbers_of_one_element(driver):
    one = cupola.to_device(np.array(2.5))
    assert bool(one)
    assert float(one) == 2.5
    assert int(one) == 2
    assert one.item() == 2.5
    assert complex(one) == 2.5
    assert bool(cupola.ones(1)) and cupola.ones(1).item() == 1
    assert not cupola.zeros(())
    with pytest.raises(ValueError, match="any"):
        bool(cupola.zeros(2))
    with pytest.raises(ValueError, match="1 element, got 2"):
        float(cupola.zeros(2))
    with pytest.raises(TypeError):
        hash(one)


def test_powers_that_round_once(driver):
    a = np.random.default_rng(0).uniform(0.1, 9, 1000)
    x = cupola.to_device(a)
    assert_same(x**2, a**2)
    assert_same(x**0.5, a**0.5)
    assert_same(x**-1, a**-1)
    b = np.arange(-5, 5)
    assert_same(cupola.to_device(b) ** 2, b**2)


def test_astype(driver):
    a = np.arange(6.0).reshape(2, 3)
    x = cupola.to_device(a)
    assert_same(x.astype(np.int8), a.astype(np.int8))
    assert x.astype(float, copy=False) is x
    assert x.astype(float) is not x
    assert x.T.astype(np.float32).strides == a.T.astype(np.float32).strides
    with pytest.raises(TypeError, match="same_kind"):
        x.astype(int, casting="same_kind")
    with pytest.raises(TypeError):
        x.astype("S8")


def test_work_goes_to_the_current_stream(driver):
    a = np.arange(1000, dtype=np.float32)
    x = cupola.to_device(a)
    stream = cupola.Stream()
    with stream:
        y = x * 2 + 1
        z = y - x
    stream.synchronize()
    assert_same(z, a * 2 + 1 - a)


def test_a_graph_holds_what_is_computed(driver):
    x = cupola.to_device(np.arange(8, dtype=np.float32))
    out = cupola.zeros(8, np.float32)
    np.add(x, 1, out=out)  # code is loaded before
    out.fill(0)
    stream = cupola.Stream()
    with stream.capture() as graph:
        np.add(x, 1, out=out)
        assert "shape=(8,)" in repr(out)  # nothing is read while it is captured
    run = graph.instantiate()
    run(stream=stream)
    stream.synchronize()
    assert_same(out, np.arange(1, 9, dtype=np.float32))


@pytest.mark.parametrize(
    "a",
    [
        np.arange(3, dtype=np.float32), np.array(2.5), np.arange(6).reshape(2, 3),
        np.arange(20000.0), np.arange(40000).reshape(200, 200), np.arange(3000).reshape(3, 1000),
        np.array([True]),
    ],
    ids=lambda a: str(a.shape),
)  # fmt: skip
def test_arrays_show_their_elements(driver, a):
    x = cupola.to_device(a)
    assert str(x) == str(a)
    assert str(a).split("\n")[0] in repr(x)
    assert f"dtype={a.dtype}" in repr(x)


def test_arrays_that_cannot_be_read_are_shown_without(driver):
    x = cupola.zeros(3)
    x.free()
    assert "freed" in repr(x)
    assert "shape=(0, 3)" in repr(cupola.zeros((0, 3)))


def test_warnings_are_none_of_ours(driver):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (cupola.to_device(np.array([1.0, 0.0])) / 0).get().tolist()[0] == np.inf


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=True,
    ).stdout


@pytest.mark.several_devices
def test_operands_on_another_device_are_refused(driver):
    text = run(
        """
import cupola, numpy as np
x, y = [cupola.to_device(np.ones(3), device=i) for i in range(2)]
for use in (lambda: x + y, lambda: np.add(x, x, out=y)):
    try:
        use()
    except cupola.ArgumentValueError as error:
        print(error)
print((y + y).device.index, (y + y).get().tolist())
""",
        CUPOLA_CPU_DEVICES="2",
    )
    assert text.count("device") >= 2
    assert "1 [2.0, 2.0, 2.0]" in text


def test_a_fault_names_the_line_of_the_operation(driver):
    text = run(
        """
import cupola, numpy as np
x = cupola.Array.from_address(4096, 100, np.float32, device=0)
line = __import__("sys")._getframe().f_lineno + 1
y = x + x
try:
    cupola.Device(0).synchronize()
except cupola.DriverError as error:
    print("line", line, error)
""",
        CUPOLA_TRACEBACK="1",
    )
    line = text.split()[1]
    assert f"arithmetic_f32, grid (1, 1, 1), block (256, 1, 1), launched at <string>:{line}" in text


@pytest.mark.parametrize("ufunc", [np.add, np.multiply])
@pytest.mark.parametrize(
    ("value", "dtype", "wider"),
    [(100, "i1", "i4"), (300, "u2", "u4"), (60000, "f2", "f4"), (1, "?", "i1"), (100, "i1", "f8")],
)
def test_a_wider_out_gets_what_the_type_itself_holds(driver, ufunc, value, dtype, wider):
    """As NumPy's loops: int8 wraps before it is cast to the int32 of `out`."""
    host = np.full(5, value, dtype)
    with np.errstate(over="ignore"):
        wanted = ufunc(host, host, out=np.zeros(5, wider))
    given = ufunc(cupola.to_device(host), cupola.to_device(host), out=cupola.zeros(5, wider))
    assert_same(given.get(), wanted)


class Letter(enum.IntEnum):
    A = 200


class Ratio(float):
    pass


@pytest.mark.parametrize(
    ("host", "value"), [(np.array([100], "u1"), Letter.A), (np.ones(2, "f4"), Ratio(1))]
)
def test_only_pythons_own_numbers_are_weak(driver, host, value):
    assert_same((cupola.to_device(host) + value).get(), host + value)
    assert_same((value * cupola.to_device(host)).get(), value * host)


def test_what_is_no_number_is_no_operand(driver):
    array = cupola.to_device(np.arange(3.0))
    assert (array == None) is False and (array != None) is True  # noqa: E711
    for operand in (None, np.array("x"), np.array(None)):
        with pytest.raises(TypeError, match=r"unsupported operand|NotImplemented"):
            array + operand
        with pytest.raises(TypeError, match="NotImplemented"):
            np.add(array, operand)


@pytest.mark.parametrize("operand", [[0.0, 1.0, 2.0], (), [1]], ids=str)
def test_a_sequence_is_not_compared_by_identity(driver, operand):
    array = cupola.to_device(np.arange(3.0))
    for compared in (operator.eq, operator.ne):
        for pair in ((array, operand), (operand, array)):
            with pytest.raises(TypeError, match=r"cupola\.to_device"):
                compared(*pair)


@pytest.mark.parametrize("function", [np.array_equiv])
def test_functions_that_take_errors_for_a_no_are_refused(driver, function):
    array = cupola.to_device(np.arange(3.0))
    with pytest.raises(TypeError, match="get"):
        function(array, array)


@pytest.mark.parametrize("ufunc", [np.logical_and, np.logical_or, np.logical_xor])
@pytest.mark.parametrize("dtype", ["?", "i1", "i2", "u1", "u4", "u8", "f2", "f4", "f8", "c8"])
def test_of_a_number_the_truth_counts_however_large_it_is(driver, ufunc, dtype):
    host = np.array([0, 1, 2], dtype)
    for value in (0, 300, -1, 70000, -(10**10), 0.0, 0.5, float("nan"), 1e300, 0j, 1j, True):
        assert_same(ufunc(cupola.to_device(host), value).get(), ufunc(host, value))
        assert_same(ufunc(value, cupola.to_device(host)[::-1]).get(), ufunc(value, host[::-1]))
