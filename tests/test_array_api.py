"""The array API: what the standard's own tests, of tools/array_api_suite.py, leave out."""

import numpy as np
import pytest
from working import refused

import cupola
from cupola import array_api as xp


def softmax(x, axis):
    """As a library writes it that takes arrays of every implementation."""
    namespace = x.__array_namespace__()
    powers = namespace.exp(x - namespace.max(x, axis=axis, keepdims=True))
    return powers / namespace.sum(powers, axis=axis, keepdims=True)


def test_code_for_every_implementation(driver):
    here = np.random.default_rng(0).normal(size=(3, 5))
    got = softmax(cupola.to_device(here), 1)
    assert type(got) is cupola.Array
    np.testing.assert_allclose(got.get(), softmax(here, 1), rtol=1e-12)


def test_namespace_and_versions(driver):
    x = cupola.ones(3)
    assert x.__array_namespace__() is x.__array_namespace__(api_version="2023.12") is xp
    assert xp.__array_api_version__ == xp.VERSIONS[-1]
    with refused(cupola.ArgumentValueError, saying="'2019.12'"):
        x.__array_namespace__(api_version="2019.12")


def test_what_it_can_do(driver):
    about = xp.__array_namespace_info__()
    assert about.default_device() == cupola.Device() and about.default_device() in about.devices()
    assert about.dtypes(kind=("bool", "real floating")) == {
        "bool": np.dtype(bool), "float32": np.dtype("f4"), "float64": np.dtype("f8"),
    }  # fmt: skip
    with refused(cupola.ArgumentValueError, saying="'text'"):
        about.dtypes(kind="text")


def test_an_array_on_its_own_device_is_not_copied(driver):
    x = cupola.ones(3)
    assert x.to_device(x.device) is x
    assert xp.asarray(x) is x and xp.asarray(x, copy=True) is not x
    with refused(cupola.ArgumentValueError, saying="copy=False"):
        xp.asarray(x, dtype=xp.float32, copy=False)
    with refused(cupola.ArgumentValueError, saying="list are copied"):
        xp.asarray([1], copy=False)
    assert xp.from_dlpack(np.arange(3.0)).get().tolist() == [0, 1, 2]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nextafter(driver, dtype):
    least, most = np.nextafter(dtype(0), dtype(1)), np.finfo(dtype).max
    values = np.array([0, -0.0, least, -least, 1, -1, most, -most, np.inf, -np.inf, np.nan], dtype)
    start, end = np.meshgrid(values, values)
    got = xp.nextafter(cupola.to_device(start), cupola.to_device(end)).get()
    with np.errstate(all="ignore"):
        expected = np.nextafter(start, end)
    ordered = ~np.isnan(expected)
    assert got[ordered].tobytes() == expected[ordered].tobytes() and np.isnan(got[~ordered]).all()


def test_descending_sorts_are_stable(driver):
    keys = cupola.to_device(np.array([1, 2, 1, 2, 3]))
    assert xp.argsort(keys, descending=True).get().tolist() == [4, 1, 3, 0, 2]
    assert xp.sort(keys, descending=True).get().tolist() == [3, 2, 2, 1, 1]


def test_methods_of_arrays(driver):
    here = np.arange(12.0).reshape(3, 4) * (1 - 2j)
    there = cupola.to_device(here)
    for name in ("real", "imag", "T"):
        np.testing.assert_array_equal(getattr(there, name).get(), getattr(here, name))
    np.testing.assert_array_equal(there.mT.get(), here.T)
    np.testing.assert_array_equal(there.swapaxes(0, 1).get(), here.T)
    np.testing.assert_array_equal(there.flatten("F").get(), here.flatten("F"))
    np.testing.assert_array_equal(there.conj().get(), here.conj())
    assert there.tolist() == here.tolist()
    there.imag[...] = cupola.zeros((3, 4))
    assert (there.get() == here.real).all()
    assert cupola.ones(2).imag.get().tolist() == [0, 0]
    values = np.array([3.0, 1, 2, 1])
    array = cupola.to_device(values)
    for call in (
        lambda x: x.cumsum(), lambda x: x.cumprod(), lambda x: x.argsort(kind="stable"),
        lambda x: x.take(np.array([1, 0])), lambda x: x.repeat(2), lambda x: x.nonzero()[0],
        lambda x: x.compress([True, False, True, False]), lambda x: x.reshape(2, 1, 2).squeeze(1),
    ):  # fmt: skip
        np.testing.assert_array_equal(call(array).get(), call(values))
    array.put([0], 5.0)
    array.sort()
    assert array.get().tolist() == [1, 1, 2, 5]
    assert [10, 20, 30][cupola.to_device(np.array(1))] == 20
    with pytest.raises(TypeError, match="only an integer array without axes"):
        [1, 2][array]
