# cupola/command/info.py - python -m cupola info.
"""Shows the driver and the devices."""

from __future__ import annotations

import argparse

HELP = "show the driver in use, why it was chosen, and its devices"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add no options."""


def run(options: argparse.Namespace) -> None:
    """Print the driver and the devices."""
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


def version_text(version: int) -> str:
    """13000 as 13.0."""
    return f"{version // 1000}.{version % 1000 // 10}"
