"""Fixtures: the driver, and modules that are unloaded when the test is over."""

import ctypes
from ctypes import c_size_t, c_uint64, c_void_p

import numpy as np
import pytest

from .driver import Driver


@pytest.fixture(scope="session")
def started():
    return Driver()


@pytest.fixture
def driver(started):
    started.make_current()
    return started


@pytest.fixture
def load(driver):
    """PTX text to a module; the header is put before it where it has none."""
    loaded = []

    def from_text(text):
        if ".version" not in text:
            text = ".version 8.6\n.target sm_90\n.address_size 64\n" + text
        loaded.append(driver.load(text))
        return loaded[-1]

    yield from_text
    for module in loaded:
        driver.library.cuModuleUnload(module.handle)


@pytest.fixture
def memory(driver):
    """Gives the device's address of a copy of an array, and a function that reads it back."""
    taken = []

    def place(a):
        at = c_uint64()
        driver("cuMemAlloc_v2", ctypes.byref(at), c_size_t(a.nbytes))
        taken.append(at)
        driver("cuMemcpyHtoD_v2", at, c_void_p(a.ctypes.data), c_size_t(a.nbytes))

        def read():
            back = np.empty_like(a)
            driver("cuMemcpyDtoH_v2", c_void_p(back.ctypes.data), at, c_size_t(a.nbytes))
            return back

        return at.value, read

    yield place
    for at in taken:
        driver.library.cuMemFree_v2(at)
