"""tests/cpu/race_runs.py - runs of kernels under the race check, and what their reports name."""

import os
import pathlib
import re
import subprocess
import sys

import numpy as np

RUN = """
import sys
import numpy as np
from ptx import device_process
with np.load(sys.argv[1]) as kept:
    arrays = [kept[name] for name in kept.files]
blocks, threads = map(int, sys.argv[2:4])
device_process.driver().load(sys.stdin.read()).run("k", blocks, threads, arrays)
"""


def messages(folder, kernel, arrays, threads=128, blocks=1, capability="10.0"):
    """Those of a launch under the race check. The folder keeps the arrays for its process."""
    np.savez(folder / "arrays.npz", *arrays)
    environment = {
        **os.environ,
        "CUPOLA_CPU_CHECK": "race",
        "CUPOLA_CPU_COMPUTE_CAPABILITY": capability,
        "PYTHONPATH": str(pathlib.Path(__file__).parents[1]),
    }
    done = subprocess.run(
        [sys.executable, "-c", RUN, folder / "arrays.npz", str(blocks), str(threads)],
        input=kernel, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stderr


def by_line(kernel):
    """The kernel with one statement a line."""
    return kernel.replace("; ", ";\n").replace(": ", ":\n")


def changed(kernel, old, new=""):
    assert kernel.count(old) >= 1, old
    return kernel.replace(old, new, 1)


def lines_of(report, kernel):
    """The statements whose lines a report names."""
    text = kernel.splitlines()
    return [text[int(n) - 1] for n in re.findall(r"line (\d+)", report)]


def named(report, kernel, *wanted):
    statements = lines_of(report, kernel)
    return all(any(part in statement for statement in statements) for part in wanted)
