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
