"""Every algorithm with every element type: NumPy's result, or an error that names the argument."""

import re
import warnings

import numpy as np
import pytest
from working import assert_works, refused

import cupola
from cupola.arrays.element_types import INT64, MOVES, TAKES
from cupola.arrays.numpy_functions import NAMES

PLACES = np.array([1])
# The arguments of each function, from an array of three elements; `x` alone where there is none.
CALLS = {
    "allclose": lambda x: (x, x),
    "append": lambda x: (x, x),
    "argpartition": lambda x: (x, 1),
    "array_equal": lambda x: (x, x),
    "array_split": lambda x: (x, 2),
    "broadcast_arrays": lambda x: (x, x),
    "broadcast_to": lambda x: (x, (2, 3)),
    "clip": lambda x: (x, x[1:2], x[:1]),
    "column_stack": lambda x: ([x, x],),
    "compress": lambda x: ([True, False, True], x),
    "concatenate": lambda x: ([x, x],),
    "cross": lambda x: (x, x),
    "delete": lambda x: (x, 1),
    "digitize": lambda x: (x, np.array([0.5, 1.5])),
    "dsplit": lambda x: (x.reshape(1, 1, 3), 1),
    "dstack": lambda x: ([x, x],),
    "expand_dims": lambda x: (x, 0),
    "extract": lambda x: (x, x),
    "fliplr": lambda x: (x.reshape(1, 3),),
    "histogram": lambda x: (x, 2),
    "hsplit": lambda x: (x, 3),
    "hstack": lambda x: ([x, x],),
    "inner": lambda x: (x, x),
    "insert": lambda x: (x, 1, x[:1]),
    "interp": lambda x: (x, x[1:2], x[:1]),
    "intersect1d": lambda x: (x, x),
    "isclose": lambda x: (x, x),
    "isin": lambda x: (x, x),
    "lexsort": lambda x: ([x],),
    "moveaxis": lambda x: (x.reshape(1, 3), 0, 1),
    "outer": lambda x: (x, x),
    "pad": lambda x: (x, 1),
    "partition": lambda x: (x, 1),
    "percentile": lambda x: (x, 30),
    "put": lambda x: (x, [0], x[1:2]),
    "put_along_axis": lambda x: (x, PLACES, x[:1], 0),
    "quantile": lambda x: (x, 0.3),
    "ravel_multi_index": lambda x: ((x, x), (3, 3)),
    "repeat": lambda x: (x, 2),
    "roll": lambda x: (x, 1),
    "rollaxis": lambda x: (x.reshape(1, 3), 1),
    "rot90": lambda x: (x.reshape(1, 3),),
    "searchsorted": lambda x: (x, x),
    "setdiff1d": lambda x: (x, x[:1]),
    "setxor1d": lambda x: (x, x[:1]),
    "split": lambda x: (x, 3),
    "stack": lambda x: ([x, x],),
    "swapaxes": lambda x: (x.reshape(1, 3), 0, 1),
    "take": lambda x: (x, PLACES),
    "take_along_axis": lambda x: (x, PLACES, 0),
    "tensordot": lambda x: (x, x, 1),
    "tile": lambda x: (x, 2),
    "union1d": lambda x: (x, x),
    "unravel_index": lambda x: (x, (3, 3)),
    "vdot": lambda x: (x, x),
    "vsplit": lambda x: (x.reshape(3, 1), 3),
    "vstack": lambda x: ([x, x],),
    "where": lambda x: (x, x, x),
    **dict.fromkeys(["diagonal", "trace", "tril", "triu"], lambda x: (x.reshape(1, 3),)),
}
# Functions that find a common type, for which elements in the other byte order are converted.
JOINING = {"append", "column_stack", "concatenate", "dstack", "hstack", "insert", "stack", "vstack"}
JOINING |= {"tril", "triu"}
REFUSED = {
    ("cross", "?"): "subtract",  # NumPy refuses it, too
    ("percentile", "?"): "percentile: argument a: bool has no means",  # as in NumPy
    ("quantile", "?"): "quantile: argument a: bool has no means",
}


def types():
    """NumPy's types but objects, a structure, and numbers in the other byte order."""
    chars = [char for char in np.typecodes["All"] if char != "O"]
    named = [np.dtype(f"{char}8[s]" if char in "mM" else char) for char in chars]
    named = [np.dtype(f"{one.char}3") if one.char in "SUV" else one for one in named]
    named.append(np.dtype("f4,i4"))
    return named + [one.newbyteorder(">") for one in named if one.kind in "iufc"]


def host_values(dtype):
    if dtype.names:
        return np.array([(2, 0), (0, 1), (1, 2)], dtype)
    if dtype.kind == "V":
        return np.array([b"\2\0\0", b"\0\0\0", b"\1\0\0"], dtype)
    return np.array([2, 0, 1]).astype(dtype)


def device_values(values):
    """The same bytes and dtype on a device: a plain copy has the native byte order."""
    if values.dtype.isnative:
        return cupola.to_device(values)
    return cupola.to_device(values.view(np.uint8)).view(values.dtype)


def host(found):
    if isinstance(found, (tuple, list)):
        return [host(one) for one in found]
    return np.asarray(found.get() if isinstance(found, cupola.Array) else found)


def check_same(found, expected):
    if isinstance(expected, list):
        for one, other in zip(found, expected, strict=True):
            check_same(one, other)
        return
    assert found.shape == expected.shape
    if expected.dtype.kind in "fc":
        # Complex ones by their parts; a float16 rounds once more where NumPy converts later.
        np.testing.assert_allclose(found, expected, rtol=2e-3)
    else:
        np.testing.assert_array_equal(found, expected)


def expected_error(name, array):
    """Words of the error for elements that the function refuses; None where it takes them."""
    # The condition of `compress` is a list here, and there are no weights.
    elements = {
        argument: one
        for (function, argument), one in TAKES.items()
        if function == name and argument != "weights" and name != "compress"
    }
    if not all(one.has(array) for one in elements.values()):
        text = next(iter(elements.values())).text
        return rf"^{name}: argument ({'|'.join(elements)}): expected {text}, got "
    if name == "bincount" and not INT64.has(array):
        return "^bincount: argument x: expected integers that int64 holds, got "
    if name in MOVES and not array.dtype.isnative:
        return rf"^{name}: argument \w+: expected elements in the machine's byte order, got >"
    if name in JOINING and not array.dtype.isnative:
        return re.escape(str(array.dtype))
    return REFUSED.get((name, array.dtype.char))


@pytest.mark.parametrize("name", [name for name in NAMES if hasattr(np, name)])
def test_result_or_refusal(name):
    call, function = CALLS.get(name, lambda x: (x,)), getattr(cupola, name)
    taken = 0
    for dtype in types():
        values = host_values(dtype)
        array = device_values(values)
        if error := expected_error(name, array):
            with pytest.raises(TypeError, match=error):
                function(*call(array))
            continue
        arguments, made = call(array), call(values.copy())
        found = function(*arguments)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = getattr(np, name)(*made)
        if expected is None:  # the function changes its argument
            found, expected = arguments[0], made[0]
        check_same(host(found), host(expected))
        taken += 1
    assert taken >= 8
    assert_works()


def test_every_rule_is_of_a_tested_function():
    others = {"dot", "matmul", "top_k"}
    assert {function for function, _ in TAKES} <= {*NAMES, *others}
    for name, arguments in (("dot", 2), ("matmul", 2), ("top_k", 1)):
        array = cupola.zeros((3, 3), np.longdouble)
        with refused(cupola.ArgumentTypeError, saying=f"{name}: argument "):
            getattr(cupola, name)(*[array] * arguments, *([1] if name == "top_k" else []))


@pytest.mark.parametrize("name", ["add", "multiply", "minimum", "maximum"])
def test_methods_of_ufuncs(name):
    ufunc, x = getattr(np, name), device_values(host_values(np.dtype(">f4")))
    for made in (lambda: ufunc.accumulate(x), lambda: ufunc.reduceat(x, [0])):
        with refused(cupola.ArgumentTypeError, saying="argument array: expected bool or numbers"):
            made()


@pytest.mark.parametrize("dtype", [np.longdouble, np.clongdouble, ">f4", ">c16", "M8[s]"])
def test_refused_weights(dtype):
    x, weights = cupola.zeros(3, np.int64), device_values(host_values(np.dtype(dtype)))
    for name in ("bincount", "histogram"):
        with refused(cupola.ArgumentTypeError, saying=f"{name}: argument weights: expected bool"):
            getattr(cupola, name)(x, weights=weights)
