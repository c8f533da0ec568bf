"""Fixtures: the driver, and modules that are unloaded after the test.

They compare the data that tests read back with a GPU's, or keep it while that is being recorded.
"""

import ctypes
import os
import pickle
from ctypes import c_size_t, c_uint64, c_void_p

import numpy as np
import pytest

from . import recording, unrecorded
from .device_process import DeviceProcess
from .driver import Driver

RECORD = os.environ.get("CUPOLA_TEST_RECORD")  # a file to make, by record.py
made = {}  # Bits by the test's name


@pytest.fixture(scope="session")
def started():
    return Driver()


@pytest.fixture(scope="session")
def nvcc():
    """The toolkit's compiler: the machine's, or the one in NVIDIA's wheels."""
    import images  # needs cupola's build, unlike most of these tests

    return str(images.nvcc().nvcc)


@pytest.fixture(scope="session")
def ptxas():
    """The toolkit's assembler."""
    import images

    return str(images.nvcc().tool("ptxas"))


@pytest.fixture(scope="session")
def newer_devices():
    """By compute capability, a process with such a device."""
    processes = {}

    def of(capability):
        return processes.setdefault(capability, DeviceProcess(capability))

    yield of
    for each in processes.values():
        each.pool.shutdown()


@pytest.fixture
def driver(started):
    started.make_current()
    bits = recording.recorded()
    comparable = not RECORD and (not started.on_hardware or started.name() == bits.device)
    started.seen = recording.Seen(bits if comparable else None)
    yield started
    started.seen = None


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    """A test that has passed so far."""
    outcome = yield
    seen = getattr(pyfuncitem.funcargs.get("driver"), "seen", None)
    if seen is None or not seen.left:
        return outcome
    name = recording.name_of(pyfuncitem)
    if RECORD:
        if not unrecorded.never(name):
            made[name] = seen.as_bits()
    elif seen.bits is None:
        pyfuncitem.user_properties.append(("on another device", name))
    else:
        compared, why, wrong = recording.verdict(seen, name)
        pyfuncitem.user_properties.append(("compared", compared))
        if why:
            pyfuncitem.user_properties.append(("unrecorded", f"{name.partition('[')[0]}: {why}"))
        if wrong:
            pytest.fail(wrong)
    return outcome


def pytest_sessionfinish():
    if RECORD:
        with open(RECORD, "wb") as file:
            pickle.dump(made, file)


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
        driver.cuMemAlloc_v2(ctypes.byref(at), c_size_t(a.nbytes))
        taken.append(at)
        driver.cuMemcpyHtoD_v2(at, c_void_p(a.ctypes.data), c_size_t(a.nbytes))

        def read():
            back = np.empty_like(a)
            driver.cuMemcpyDtoH_v2(c_void_p(back.ctypes.data), at, c_size_t(a.nbytes))
            return back

        return at.value, read

    yield place
    for at in taken:
        driver.library.cuMemFree_v2(at)
