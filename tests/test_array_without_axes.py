"""Arrays without axes, which reductions return, in Python's own functions."""

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


def outcome(call):
    """The results' shapes, types and elements; "refused" where the axis does not exist."""
    try:
        found = call()
    except (ValueError, TypeError) as error:  # NumPy's AxisError and cupola's error are both
        assert isinstance(error, cupola.Error) or "axis" in str(error)
        return "refused"
    found = found.get() if isinstance(found, cupola.Array) else np.asarray(found)
    return found.shape, found.dtype, found.tolist()


METHODS = ["sum", "prod", "min", "max", "mean", "any", "all", "argmin", "argmax", "var", "std"]
FUNCTIONS = {
    "argpartition": (0,), "argsort": (), "count_nonzero": (), "cumprod": (), "cumsum": (),
    "cumulative_prod": (), "cumulative_sum": (), "flip": (), "median": (), "nanargmax": (),
    "nanargmin": (), "nanmax": (), "nanmean": (), "nanmin": (), "nanprod": (), "nansum": (),
    "partition": (0,), "percentile": (50,), "quantile": (0.5,), "repeat": (2,), "roll": (1,),
    "sort": (), "squeeze": (), "take": (0,), "expand_dims": (), "delete": (0,),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
@pytest.mark.parametrize("name", [*METHODS, *FUNCTIONS, "compress", "lexsort"])
def test_an_axis_of_an_array_without_axes_is_as_in_numpy(name, dtype):
    host = np.array(3, dtype)
    array = cupola.to_device(host)
    axes = [0, -1, 1, -2] + [None] * (name not in ("lexsort", "expand_dims"))
    for axis in axes:
        for module, x in ((np, host), (cupola, array)):
            if name in METHODS:
                call = lambda x=x, axis=axis: getattr(x, name)(axis=axis)
            elif name == "compress":
                call = lambda m=module, x=x, axis=axis: m.compress([True], x, axis=axis)
            elif name == "lexsort":
                call = lambda m=module, x=x, axis=axis: m.lexsort([x, x], axis=axis)
            elif hasattr(module, name):
                call = lambda m=module, x=x, axis=axis: getattr(m, name)(
                    x, *FUNCTIONS[name], axis=axis
                )
            else:
                continue  # an older NumPy
            if module is np:
                expected = outcome(call)
            else:
                assert outcome(call) == expected, axis


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
