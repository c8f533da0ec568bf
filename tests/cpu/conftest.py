"""Fixtures: the driver with its primary context current, and scripts in new processes."""

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
    """The driver with the primary context of device 0 current and no work in flight."""
    started.primary()
    yield started
    started.cuCtxSynchronize()
    started.cuDevicePrimaryCtxRelease_v2(0)


@pytest.fixture(scope="session")
def module(started):
    """The module of kernels.ptx with all functions loaded.

    NVIDIA's driver would load each at its first launch, which waits for running kernels. That is
    a deadlock where a running kernel waits for the one being launched.
    """
    module = started.module()
    for function in started.kernels(module):
        started.cuFuncLoad(function)
    return module


@pytest.fixture
def kernel(cuda, module):
    return lambda name: cuda.function(module, name)


@pytest.fixture
def memory(cuda):
    """4096 bytes of device memory, zero at first."""
    pointer = cuda.alloc(4096)
    cuda.cuMemsetD32_v2(pointer, 0, 1024)
    cuda.cuCtxSynchronize()
    yield pointer
    cuda.cuMemFree_v2(pointer)


@pytest.fixture
def events(cuda):
    """Makes events that are destroyed after the test."""
    made = []

    def make(flags=0):
        made.append(cuda.event(flags))
        return made[-1]

    yield make
    for event in made:
        cuda.cuEventDestroy_v2(event)


@pytest.fixture
def script():
    """Runs a script in a new Python process with `cuda` started; returns the process."""

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
    """Runs a script that must succeed without output on stderr; returns its stdout."""

    def run(text, **keywords):
        done = script(text, **keywords)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return done.stdout

    return run


@pytest.fixture
def own(cuda):
    """Skips a test of a contract that only cupola's library has."""
    if cuda.on_hardware:
        pytest.skip("a contract of cupola's own library")
