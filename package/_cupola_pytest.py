# _cupola_pytest.py - the pytest plugin's options and fixture; beside the package, since pytest
# imports this file at each start, and importing it imports no other module of cupola.
"""Options of pytest for tests of kernels, and the fixture `cupola_device`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import cupola

CHECKS = ("memory", "race", "init", "sync", "all")


def _checks(text: str) -> str:
    words = text.split(",")
    if wrong := [word for word in words if word not in CHECKS]:
        raise argparse.ArgumentTypeError(
            f"{wrong[0]!r} is no check; expected one or more of {', '.join(CHECKS)}, with commas "
            "between them"
        )
    return text


def _number(low: int, high: int) -> Any:
    def read(text: str) -> int:
        if not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {low} to {high}")
        return int(text)

    return read


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("cupola", "CUDA kernels on cupola's CPU device")
    group.addoption(
        "--cupola-check",
        type=_checks,
        metavar="CHECKS",
        help="run the tests under these checks of the CPU device (memory, race, init, sync, all; "
        "several with commas between); a test with a finding fails",
    )
    group.addoption(
        "--cupola-seed",
        type=_number(0, 2**64 - 1),
        metavar="N",
        help="run blocks, warps and lanes in the random order of this seed",
    )
    group.addoption(
        "--cupola-orders",
        type=_number(1, 10**6),
        metavar="K",
        help="run each test K times, in the orders of the seeds from --cupola-seed (0) on",
    )
    group.addoption(
        "--cupola-coverage",
        nargs="?",
        const="",
        metavar="FILE",
        help="count lines and branches of kernels into FILE (.cupola-coverage), a context for each "
        "test",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Choose the driver before a conftest.py can load one."""
    options = early_config.known_args_namespace
    wanted = (
        options.cupola_check,
        options.cupola_seed,
        options.cupola_orders,
        options.cupola_coverage,
    )
    if all(option is None for option in wanted):
        return
    from cupola.testing import Kernels

    early_config.pluginmanager.register(Kernels(*wanted), "cupola-kernels")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "cupola_device" not in metafunc.fixturenames:
        return
    marked = metafunc.definition.iter_markers("parametrize")
    if not any("cupola_device" in str(mark.args[0]) for mark in marked):
        from cupola.testing import device_kinds

        kinds, reason = device_kinds()
        metafunc.config.stash[_DEVICES] = f"cupola_device: {', '.join(kinds)} ({reason})"
        metafunc.parametrize("cupola_device", kinds, indirect=True)


_DEVICES = pytest.StashKey[str]()


def pytest_report_collectionfinish(config: pytest.Config) -> str | list[str]:
    return config.stash.get(_DEVICES, [])


@pytest.fixture
def cupola_device(request: pytest.FixtureRequest) -> Iterator[cupola.Device]:
    """The current device of the test: the CPU device, and then a GPU where there is one."""
    import cupola

    is_main = cupola.driver.info().kind == request.param
    device = cupola.Device(0 if is_main else request.param)
    with device:
        yield device
