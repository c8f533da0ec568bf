"""A fault after a launch with null pointers says which arguments they were."""

import os
import subprocess
import sys

import pytest
from test_signatures import AXPY, BARE

NULL = """
import sys
import numpy as np
import cupola
kernel = cupola.load({image!r}.encode())["axpy"]
if {declared!r}:
    kernel.declare({declared!r})
x = cupola.to_device(np.arange(8, dtype=np.float32))
out = cupola.zeros(8, np.float32)
{launch}
try:
    cupola.Device().synchronize()
except cupola.DriverError as error:
    print(error)
"""


@pytest.fixture
def run_python(driver):
    def run(program):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "CUPOLA_DRIVER": driver},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.mark.parametrize(
    ("declared", "launch", "saying"),
    [
        (AXPY, "kernel[1, 8](2.0, None, out, 8)", "argument 1 (x) is null"),
        (AXPY, "kernel.prepare(1, 8, 2.0, x, None, 8)()", "argument 2 (out) is null"),
        (
            "",
            "kernel[1, 8](2.0, None, out, 8)",
            "argument 1 is 0, which is null if it is a pointer",
        ),
    ],
)
def test_a_fault_names_null_arguments(run_python, declared, launch, saying):
    """In a process of its own: such a fault ends the work of a context."""
    text = run_python(NULL.format(image=BARE, declared=declared, launch=launch))
    assert f"axpy, grid (1, 1, 1), block (8, 1, 1), {saying}" in text
    assert "(out) is null" in text or "argument 2" not in text


def test_without_a_null_nothing_is_said_of_one(run_python):
    text = run_python(
        NULL.format(image=BARE, declared=AXPY, launch="kernel[1, 8](2.0, 16, out, 8)")
    )
    assert "axpy, grid" in text and "null" not in text
