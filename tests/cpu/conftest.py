"""Fixtures: the driver with its primary context current, and scripts in processes of their own."""

import os
import pathlib
import subprocess
import sys
import textwrap

import driver_abi
import pytest


@pytest.fixture(scope="session")
def started():
    driver = driver_abi.Driver()
    driver.start()
    return driver


@pytest.fixture
def cuda(started):
    """The driver, the primary context of device 0 current, no work in flight before or after."""
    started.primary()
    yield started
    started.cuCtxSynchronize()
    started.cuDevicePrimaryCtxRelease_v2(0)


@pytest.fixture(scope="session")
def module(started):
    """With all its functions loaded: NVIDIA's driver would load each at its first launch, which
    waits for what is under way, as for a kernel that only the one being launched lets end.
    """
    module = started.module()
    for function in started.kernels(module):
        started.cuFuncLoad(function)
    return module


@pytest.fixture
def kernel(cuda, module):
    return lambda name: cuda.function(module, name)


@pytest.fixture
def events(cuda):
    """Makes events, which end with the test."""
    made = []

    def make(flags=0):
        made.append(cuda.event(flags))
        return made[-1]

    yield make
    for event in made:
        cuda.cuEventDestroy_v2(event)


@pytest.fixture
def script():
    """Runs text in a new Python with `cuda` started; returns the finished process."""

    def run(text, start=True, timeout=300, **environment):
        head = "from driver_abi import *\nimport os, sys, threading, time\ncuda = Driver()\n"
        if start:
            head += "context = cuda.start()\n"
        return subprocess.run(
            [sys.executable, "-c", head + textwrap.dedent(text)],
            cwd=pathlib.Path(__file__).parents[1],
            # from 3.12 on Python itself warns of fork() in a process with threads
            env={**os.environ, "PYTHONWARNINGS": "ignore::DeprecationWarning", **environment},
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    return run


@pytest.fixture
def passes(script):
    """Runs a script that must end well and say nothing on stderr; returns its output."""

    def run(text, **keywords):
        done = script(text, **keywords)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return done.stdout

    return run


@pytest.fixture
def own(cuda):
    """For what only cupola's library promises."""
    if cuda.on_hardware:
        pytest.skip("a contract of cupola's own library")
