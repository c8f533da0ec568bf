"""A kernel to profile, the resolution of times, and programs in a process of their own."""

import os
import subprocess
import sys
import textwrap

import images
import pytest

N = 1 << 16
# Seconds: an event's resolution; and how well the clocks of device and host are matched.
SLACK = 5e-6
MATCH = 1e-4


@pytest.fixture
def increment(driver):
    return images.module()["increment"]


def run(code, driver, **variables):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "CUPOLA_DRIVER": driver, **variables},
        capture_output=True,
        text=True,
    )
