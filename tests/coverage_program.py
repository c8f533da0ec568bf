"""tests/coverage_program.py - launches the kernels of tests/counted.cu in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import images

SOURCE = Path(__file__).with_name("counted.cu")
LINES = SOURCE.read_text().splitlines()

PROGRAM = """
import sys
import numpy as np
import cupola
import cupola.coverage

image, *launches = sys.argv[1:]
module = cupola.load(image)
for launch in launches:
    context, n, rare = launch.split(":")
    if context:
        cupola.coverage.switch_context(context)
    x = cupola.zeros(max(int(n), 1), np.int32)
    module["counted"][3, 48](x, int(n), int(rare))
cupola.Device().synchronize()
"""


def image(*options):
    name = "counted" + "".join(option.strip("-") for option in options) + ".ptx"
    return images.compiled(name, SOURCE, "-ptx", "-arch=compute_75", *options)


def run(ptx, *launches, **variables):
    """Launch with each "CONTEXT:N:RARE" in one process, on the CPU device."""
    environment = {
        **os.environ,
        "CUPOLA_DRIVER": "cpu",
        **{k: str(v) for k, v in variables.items()},
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, ptx, *launches],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done


def line(text):
    """The number of the only line that contains the text."""
    found = [number for number, each in enumerate(LINES, 1) if text in each]
    assert len(found) == 1, (text, found)
    return found[0]
