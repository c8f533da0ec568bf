"""tests/beside.py - programs in which the CPU device is used beside another driver.

On a GPU the other driver is NVIDIA's. On a machine without one it is a copy of the CPU device's
library, which is a driver of its own.
"""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import operations

from cupola import paths

BEGIN = """
import numpy as np, cupola
cpu, main = cupola.Device("cpu"), cupola.Device(0)
assert cpu != main
"""
# By this name cupola tells its CPU device from NVIDIA's driver.
MARK = b"\0cupola_cpu_device\0"


def other_driver(driver, folder):
    """CUPOLA_DRIVER for a main driver that is not this installation's CPU device."""
    if driver == "cuda":
        return "cuda"
    # A copy of the file under its own name would still be another file, and so another library.
    copy = folder / "libcuda.so.1"
    shutil.copy(paths.cpu_library(), copy)
    return os.fspath(copy)


def gpu_driver(driver, folder):
    """The same for a driver that cupola takes for NVIDIA's."""
    path = other_driver(driver, folder)
    if path != "cuda":
        library = Path(path).read_bytes()
        assert MARK in library
        Path(path).write_bytes(library.replace(MARK, MARK[:-2] + b"?\0"))
    return path


def run(code, choice, **variables):
    """The process of a program, when it has ended."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "CUPOLA_DRIVER": choice, **variables},
        capture_output=True,
        text=True,
        timeout=300,
    )


def good(code, choice, **variables):
    """The output of a program that has no error."""
    answer = run(code, choice, **variables)
    assert (answer.returncode, answer.stderr) == (0, ""), answer.stdout + answer.stderr
    return answer.stdout


def both(code, choice, **variables):
    """A program that has both devices, `cpu` and `main`."""
    return good(BEGIN + textwrap.dedent(code), choice, **variables)


def with_operations(code, begin="import numpy as np, cupola"):
    """The text of a program that has `made` of test_op.py, with the kernels of operations.cu.

    `device` is where the kernels are loaded first.
    """
    image = operations.image()
    return f"""{begin}
import sys
sys.path.insert(0, {os.fspath(Path(__file__).parent)!r})
import operations
def made(table, device=None, **changes):
    module = cupola.load({os.fspath(image)!r}, device=device)
    table = {{**table, **changes}}
    kernels = table.pop("kernels")
    if isinstance(kernels, str):
        return cupola.op(module[kernels], **table)
    return cupola.op({{types: module[kernel] for types, kernel in kernels.items()}}, **table)
{textwrap.dedent(code)}"""
