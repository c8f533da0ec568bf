"""Fixtures: the driver, and modules that are unloaded when the test is over."""

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
