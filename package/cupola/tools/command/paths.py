# cupola/tools/command/paths.py - python -m cupola paths.
"""Shows which files cupola uses."""

from __future__ import annotations

import argparse

HELP = "show where libraries, drivers and headers were found, and why"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add options that are exclusive."""
    one = parser.add_mutually_exclusive_group()
    one.add_argument("--library", action="store_true", help="print only the path of libcupola.so")
    one.add_argument("--include", action="store_true", help="print only the folder of the headers")
    one.add_argument(
        "--cpu-driver", action="store_true", help="print only the path of the CPU device's library"
    )
    one.add_argument(
        "--cmake-dir",
        action="store_true",
        help="print only the folder for cupola_DIR of CMake, which also has cupola.pc",
    )


def run(options: argparse.Namespace) -> None:
    """Print one path, or the report on all."""
    from cupola import paths

    if options.library:
        print(paths.library())
    elif options.include:
        print(paths.include())
    elif options.cpu_driver:
        print(paths.cpu_driver())
    elif options.cmake_dir:
        print(paths.cmake_dir())
    else:
        print(paths.report())
