"""tests/working.py - what must hold after an error: it was cupola's, it says what it should, and
everything goes on working.
"""

import contextlib

import images
import numpy as np
import pytest

import cupola


def assert_works():
    """A launch with copies around it, on a kernel that no test breaks.

    The kernel is loaded each time: tests of tests/ptx reset the device's context.
    """
    host = np.arange(5, dtype=np.float32)
    array = cupola.to_device(host)
    cupola.load(images.SCALE)["scale"][1, 8](array, 3.0, 4)
    np.testing.assert_array_equal(array.get(), [0, 3, 6, 9, 4])


@contextlib.contextmanager
def refused(*classes, saying=()):
    """The block raises an error of cupola's family, of all these classes, with all these words."""
    with pytest.raises(cupola.Error) as caught:
        yield caught
    for each in classes:
        assert isinstance(caught.value, each), repr(caught.value)
    for words in saying if isinstance(saying, (list, tuple)) else [saying]:
        assert str(words) in str(caught.value)
    assert_works()


def refused_argument(kernel, index, *arguments, error, name=None, got=(), block=1):
    """The launch is refused for that argument, in a text that names all there is to name."""
    saying = [kernel.title, f"argument {index}", "expected", "got"]
    saying += [f"({name})"] if name else []
    saying += [got] if isinstance(got, str) else got
    with refused(cupola.ArgumentError, error, saying=saying):
        kernel[1, block](*arguments)
