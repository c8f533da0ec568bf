# cupola/tools/command/info.py - python -m cupola info.
"""Shows the driver, the devices, and what makes machine code for the CPU device."""

from __future__ import annotations

import argparse
import ctypes
import os

HELP = "show the driver in use, why it was chosen, and its devices"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add no options."""


def run(options: argparse.Namespace) -> None:
    """Print the driver, the devices and, on the CPU device, what makes machine code."""
    import cupola

    found = cupola.driver.info()
    print(f"cupola {cupola.__version__}")
    print(f"driver: {found.path}, CUDA {version_text(found.version)}, taken: {found.reason}")
    for device in cupola.devices():
        major, minor = device.compute_capability
        free, total = device.memory
        print(
            f"device {device.index}: {device.name}, compute capability {major}.{minor}, "
            f"{device.multiprocessor_count} multiprocessors, {total >> 20} MiB ({free >> 20} free)"
        )
    if found.kind == "cpu":
        print(machine_code(found.path))
    if found.path not in (cupola.paths.cpu_driver(), cupola.paths.cpu_library()):
        print(f'beside it: {cupola.paths.cpu_library()}, for cupola.Device("cpu")')


def machine_code(driver: str) -> str:
    """The mode of the CPU device, its compiler, and the folder of its machine code."""
    describe = ctypes.CDLL(driver)["cupola_cpu_machine_code"]
    describe.restype = ctypes.c_char_p
    return os.fsdecode(describe())


def version_text(version: int) -> str:
    """13000 as 13.0."""
    return f"{version // 1000}.{version % 1000 // 10}"
