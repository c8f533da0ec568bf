"""Arrays without axes, which reductions return, in Python's own functions."""

import warnings

import numpy as np
import pytest

import cupola


def test_an_array_without_axes_is_a_size_and_no_sequence(driver):
    count = cupola.to_device(np.array([1, 3])).max()
    assert np.zeros(count).shape == (3,) and cupola.zeros(count).shape == (3,)
    with pytest.raises(TypeError, match="without axes"):
        list(count)
    rows = cupola.to_device(np.arange(6).reshape(2, 3))
    assert [row.get().tolist() for row in rows] == [[0, 1, 2], [3, 4, 5]]
    assert list(rows[:0]) == []


def test_an_array_without_axes_is_formatted_as_its_element(driver):
    array = cupola.to_device(np.array([1.25, 2.5]))
    assert f"{array.sum():.3f} {array[1]:>5} {array.argmax():02d}" == "3.750   2.5 01"
    assert f"{array}" == str(array)
    with pytest.raises(TypeError, match="format"):
        f"{array:.3f}"


def number(call):
    """The result of a conversion to a number, with NumPy's warning or kind of error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = repr(call())
        except (TypeError, ValueError) as error:
            found = "TypeError" if isinstance(error, TypeError) else "ValueError"
    return found, [one.category for one in caught]


@pytest.mark.parametrize("kind", [float, int, complex, bool])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1, 1), (0,), (2,)])
@pytest.mark.parametrize("dtype", ["?", "u1", "i8", "f2", "f4", "f8", "c8"])
def test_python_numbers_are_made_as_numpy_makes_them(driver, kind, shape, dtype):
    """Of one element, and, from NumPy 2.4 on, of arrays without axes alone."""
    host = np.full(shape, 3, dtype)
    there = cupola.to_device(host)
    if kind is bool and not host.size:
        return  # an error here, and a warning in some versions of NumPy
    expected, found = number(lambda: kind(host)), number(lambda: kind(there))
    if host.size == 1:
        assert found == expected
        assert there.item() == host.item()
    else:
        assert found[0] in ("TypeError", "ValueError")
        assert expected[0] in ("TypeError", "ValueError")


def outcome(call):
    """The shape, type and elements of a result; "refused" where the axis is not taken."""
    try:
        found = call()
    except (ValueError, TypeError, IndexError):  # NumPy's AxisError and cupola's error are both
        return "refused"
    found = found.get() if isinstance(found, cupola.Array) else np.asarray(found)
    return found.shape, found.dtype, repr(found.tolist())


METHODS = ["sum", "prod", "min", "max", "mean", "any", "all", "argmin", "argmax", "var", "std"]
FUNCTIONS = {
    "argpartition": (0,), "argsort": (), "count_nonzero": (), "cumprod": (), "cumsum": (),
    "cumulative_prod": (), "cumulative_sum": (), "flip": (), "median": (), "nanargmax": (),
    "nanargmin": (), "nanmax": (), "nanmean": (), "nanmin": (), "nanprod": (), "nansum": (),
    "partition": (0,), "percentile": (50,), "quantile": (0.5,), "repeat": (2,), "roll": (1,),
    "sort": (), "squeeze": (), "take": (0,), "expand_dims": (), "delete": (0,), "append": (5,),
    "insert": (0, 5), "take_along_axis": ([0],), "diff": (), "trace": (),
}  # fmt: skip
# Forms of an axis; NumPy's functions differ in which of them they take.
AXES = [0, -1, 1, -2, (), (0,), (-1,), (0, 1), (0, 0), [0], 0.0, "0", np.int64(0), np.array(0)]


def call(module, name, x, axis):
    """A function's result for the array, or None where this version of NumPy lacks the function."""
    if name in METHODS:
        return getattr(x, name)(axis=axis)
    if name in ("compress", "lexsort"):
        return getattr(module, name)(
            [True] if name == "compress" else [x, x],
            *([x] if name == "compress" else []),
            axis=axis,
        )
    arguments = [np.array(one) if isinstance(one, list) else one for one in FUNCTIONS[name]]
    return getattr(module, name)(x, *arguments, axis=axis)


def takes_none(name):
    return name not in ("lexsort", "expand_dims", "diff", "trace")


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
@pytest.mark.parametrize("name", [*METHODS, *FUNCTIONS, "compress", "lexsort"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
def test_an_axis_of_an_array_without_axes_is_as_in_numpy(name, dtype):
    if not hasattr(np, name) and name not in METHODS:
        return  # an older NumPy
    host = np.array(3, dtype)
    array = cupola.to_device(host)
    for axis in AXES + [None] * takes_none(name):
        expected = outcome(lambda axis=axis: call(np, name, host, axis))
        assert outcome(lambda axis=axis: call(cupola, name, array, axis)) == expected, axis


@pytest.mark.parametrize("shape", [(0,), (1,), (3,), (2, 3)])
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
def test_each_form_of_an_axis_is_as_in_numpy(name, shape):
    if not hasattr(np, name):
        return  # an older NumPy
    host = np.arange(3, 3 + np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
    array = cupola.to_device(host)
    for axis in AXES + [None] * takes_none(name):
        if (
            isinstance(axis, tuple)
            and not axis
            and host.size == 0
            and name in ("median", "percentile", "quantile")
        ):
            continue  # NumPy fails inside of reshape
        expected = outcome(lambda axis=axis: call(np, name, host, axis))
        assert outcome(lambda axis=axis: call(cupola, name, array, axis)) == expected, axis


def test_indices_along_a_flattened_array_have_one_axis(driver):
    host = np.arange(6.0).reshape(2, 3)
    for x in (host, host[0, 0]):
        array = cupola.to_device(x)
        for index in (np.array(0), np.array([[0]])):
            with pytest.raises(cupola.ArgumentValueError, match="indices has"):
                cupola.take_along_axis(array, index, None)
            with pytest.raises(cupola.ArgumentValueError, match="indices has"):
                cupola.put_along_axis(array, index, 1, None)


def test_append_takes_values_of_the_host(driver):
    for values in (5, 2.5, np.float32(1), np.int64(7), [1, 2], np.arange(3, dtype=">i4"), []):
        for host in (np.float32(2), np.arange(3, dtype="f4"), np.arange(4).reshape(2, 2)):
            found = cupola.append(cupola.to_device(host), values)
            expected = np.append(host, values)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found.get(), expected)


def test_membership_in_arrays_of_each_number_of_axes(driver):
    rows = np.arange(6, dtype=np.uint8).reshape(2, 3)
    array = cupola.to_device(rows)
    for value in (5, 7, -1, 300, 2.0, 2.5, np.float32(1), None, "a"):
        assert (value in array) is bool(np.any(rows == value)), value
        assert (value in array[0]) is bool(np.any(rows[0] == value)), value
    assert cupola.to_device(np.array([9, 1, 9], np.uint8)) in array
    assert 3 in cupola.to_device(np.array(3)) and 4 not in cupola.to_device(np.array(3))
    assert 0 not in cupola.zeros((0, 3))
    assert np.nan not in cupola.to_device(np.array([np.nan]))
