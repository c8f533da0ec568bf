# cupola/tools/command/__init__.py - the commands of python -m cupola, in the order of its help.
"""The commands: each module has HELP, add_options(parser) and run(options).

A module imports what its command needs when it runs, so that help is there at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

NAMES = (
    "demo",
    "info",
    "paths",
    "run",
    "debug",
    "env",
    "new",
    "build",
    "compile",
    "inspect",
    "verify",
    "merge",
    "split",
    "coverage",
    "record",
    "replay",
    "judge",
    "tune",
    "bench",
    "mandelbrot",
)


def modules() -> Iterator[ModuleType]:
    """The commands' modules."""
    for name in NAMES:
        yield import_module(f"cupola.tools.command.{name}")
