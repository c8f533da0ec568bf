"""The pytest plugin, in pytest processes of their own."""

import os
import re
import shlex
import subprocess
import sys

import hooks
import images
import pytest
from wrapped import wrap

from cupola import coverage

pytestmark = [
    pytest.mark.campaign("nested runs of pytest"),
    pytest.mark.cpu_only("the options choose the CPU device"),
]
SOURCE = images.SOURCE.with_name("plugin_kernels.cu")

COMMON = """
import numpy as np, pytest, cupola

@pytest.fixture(scope="module")
def kernels():
    return cupola.load({image!r})

def spread(kernels):
    out = cupola.zeros(64, np.int32)
    kernels["spread"][1, 64](cupola.arange(32, dtype=np.int32), out)
    return out
"""
PASSING = """
from common import *

def test_found(kernels):
    spread(kernels)

def test_between(kernels):
    kernels["doubled"][1, 8](cupola.zeros(8, np.int32))

@pytest.mark.parametrize("name", ["a", "b"])
def test_found_again(kernels, name):
    assert (spread(kernels).get() == np.arange(64) % 32).all()

def test_without_a_device():
    pass
"""
FAILING = """
from common import *

def test_expected(kernels):
    kernels["must"][1, 3]()

@pytest.mark.parametrize("waits", [{waits}])
def test_assert(kernels, waits):
    kernels["must"][1, 4]()
    if waits:
        with pytest.raises(cupola.DeviceAssertionError):
            cupola.Device().synchronize()

def test_host():
    pass

def test_after(kernels):
    cupola.zeros(8, np.int32).get()
"""
CASES = """
import unittest

def test_function():
    pass

class TestCase(unittest.TestCase):
    def test_method(self):
        pass
"""
DEVICES = """
import pytest, cupola

def test_current(cupola_device):
    x = cupola.ones(3)
    assert x.device == cupola_device and x.get().sum() == 3

@pytest.mark.parametrize("cupola_device", ["cpu"], indirect=True)
def test_chosen(cupola_device):
    assert cupola_device.name == cupola.Device("cpu").name
"""


@pytest.fixture(scope="module")
def entry_points(tmp_path_factory):
    return hooks.install(tmp_path_factory.mktemp("hooks"))


@pytest.fixture
def suite(tmp_path, entry_points):
    """Writes test files, runs pytest in their folder, and returns its status and output."""
    ptx = images.compiled("plugin_kernels.ptx", SOURCE, "-ptx", "-lineinfo", "-arch=compute_75")

    def run(options="", files=None, driver=None):
        (tmp_path / "common.py").write_text(COMMON.format(image=str(ptx)))
        for name, text in (files or {}).items():
            (tmp_path / name).write_text(text)
        environment = {**os.environ, "PYTHONPATH": hooks.search_path(entry_points)}
        for name in ("CUPOLA_DRIVER", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER"):
            environment.pop(name, None)
        if driver:
            environment["CUPOLA_DRIVER"] = str(driver)
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-v", "--color=no"]
        done = subprocess.run(
            [*command, *shlex.split(options)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout + done.stderr

    return run


def by_test(text):
    found = re.findall(r"^test_\w+\.py::(\S+) (PASSED|FAILED|ERROR)", text, re.M)
    return dict(found)


def part_of(text, test):
    """The text of the report on one failed test."""
    return re.search(rf"^_+ {re.escape(test)} _+\n(.*?)(?=^_+ \S+ _+$|^=)", text, re.M | re.S)[1]


def test_without_options_pytest_imports_nothing_of_cupola(suite):
    code = "def pytest_sessionfinish():\n"
    code += "    import sys\n    print('cupola' in sys.modules, '_cupola_pytest' in sys.modules)\n"
    status, text = suite(files={"conftest.py": code, "test_one.py": "def test_one(): pass\n"})
    assert status == 0 and "False True" in text, text
    assert "cupola_device" not in text


def test_a_test_with_a_finding_fails_with_the_lines_of_the_source(suite):
    """Also where a conftest.py has used the device before."""
    files = {"test_checks.py": PASSING, "conftest.py": "import cupola\ncupola.zeros(3)\n"}
    status, text = suite("--cupola-check=race,init", files)
    assert status == 1 and "cupola: CPU device, checks: race,init" in text, text
    assert by_test(text) == {
        "test_found": "FAILED",
        "test_between": "PASSED",
        "test_found_again[a]": "FAILED",
        "test_found_again[b]": "FAILED",
        "test_without_a_device": "PASSED",
    }
    for test in ("test_found", "test_found_again[a]", "test_found_again[b]"):
        part = part_of(text, test)
        assert part.count("race: read-write in shared memory") == 1, part
        assert "kernel spread" in part and "plugin_kernels.cu:8" in part
        assert "> out[threadIdx.x] = tile[threadIdx.x % 32];" in part
    assert "finding, met" not in text


def test_the_same_tests_pass_without_the_checks(suite):
    status, text = suite(files={"test_checks.py": PASSING})
    assert status == 0, text


def test_workers_of_xdist_check_too(suite):
    status, text = suite("--cupola-check=race -n2", {"test_checks.py": PASSING})
    assert status == 1 and "3 failed, 2 passed" in text, text
    assert "> out[threadIdx.x] = tile[threadIdx.x % 32];" in text


@pytest.mark.parametrize("waits", [False, True])
def test_the_error_of_a_launch_is_of_its_test(suite, waits):
    """An error that the test expects fails only the tests that use the device after it."""
    status, text = suite("--cupola-check=sync", {"test_f.py": FAILING.format(waits=waits)})
    assert status == 1
    assert by_test(text) == {
        "test_expected": "PASSED",
        f"test_assert[{waits}]": "PASSED" if waits else "FAILED",
        "test_host": "PASSED",
        "test_after": "FAILED",
    }
    if not waits:
        assert "Assertion `threadIdx.x < 3` failed" in part_of(text, "test_assert[False]")
    assert f"since test_f.py::test_assert[{waits}] made a launch fail" in part_of(
        text, "test_after"
    )


def test_orders_find_a_mistake_and_name_the_command_that_repeats_it(suite):
    files = {"test_checks.py": PASSING}
    status, text = suite("--cupola-orders=8 --cupola-seed=3 -k again", files)
    assert status == 1 and "seed: 3 to 10" in text
    results = by_test(text)
    assert set(results) == {
        f"test_found_again[{n}-seed{seed}]" for n in "ab" for seed in range(3, 11)
    }
    failed = {name for name, result in results.items() if result == "FAILED"}
    assert failed and len(failed) < len(results), results
    # The order is one of the seed alone: the parameter does not change it.
    assert {name.replace("[a-", "[b-") for name in failed} == {n for n in failed if "[b-" in n}
    commands = re.findall(r"seed (\d+); to repeat it: pytest (.+)", text)
    assert len(commands) == len(failed)
    seed, options = commands[-1]
    status, text = suite(options)
    assert status == 1 and by_test(text) == {"test_found_again[b]": "FAILED"}, text
    assert f"seed: {seed}" in text


def test_items_that_are_no_functions_run_in_one_order(suite):
    status, text = suite("--cupola-orders=3", {"test_cases.py": CASES})
    assert status == 0 and "4 passed" in text
    assert "1 test that is not a function ran in the order of seed 0 alone" in text


def test_the_fixture_has_the_devices_that_there_are(suite, tmp_path):
    status, text = suite(files={"test_devices.py": DEVICES}, driver="cpu")
    assert status == 0 and "cupola_device: cpu (CUPOLA_DRIVER=cpu)" in text, text
    assert set(by_test(text)) == {"test_current[cpu]", "test_chosen[cpu]"}
    gpu = wrap(tmp_path / "gpu")
    status, text = suite(files={"test_devices.py": DEVICES}, driver=gpu)
    assert status == 0 and "cupola_device: cpu, cuda (CUPOLA_DRIVER names this file)" in text, text
    assert set(by_test(text)) == {"test_current[cpu]", "test_current[cuda]", "test_chosen[cpu]"}
    status, text = suite(files={"test_devices.py": DEVICES}, driver="/none/libcuda.so.1")
    assert status != 0 and "no driver could be loaded" in text


@pytest.mark.parametrize("workers", ["", "-n2"])
def test_coverage_has_a_context_for_each_test(suite, tmp_path, workers):
    status, text = suite(f"--cupola-coverage=counts {workers}", {"test_checks.py": PASSING})
    assert status == 0 and f"coverage: {tmp_path / 'counts'}" in text, text
    found = coverage.read(tmp_path / "counts").contexts()
    launching = ["test_found", "test_between", "test_found_again[a]", "test_found_again[b]"]
    assert set(found) - {""} == {f"test_checks.py::{name}|run" for name in launching}


@pytest.mark.parametrize(
    ("options", "driver", "says"),
    [
        ("--cupola-check=memory,rce", None, "'rce' is no check; expected one or more of memory"),
        ("--cupola-seed=-1", None, "'-1' is not a whole number from 0"),
        ("--cupola-orders=0", None, "'0' is not a whole number from 1"),
        ("--cupola-seed=1", "cuda", "CUPOLA_DRIVER=cuda: --cupola-check"),
        ("--cupola-check=race -p used", None, "a plugin has used a device already"),
    ],
)
def test_wrong_options_are_refused(suite, options, driver, says):
    files = {"test_one.py": "def test_one(): pass\n", "used.py": "import cupola\ncupola.zeros(1)\n"}
    status, text = suite(options, files, driver)
    assert status == 4 and says in text, text
