# cupola/command/paths.py - python -m cupola paths.
"""Where everything is."""

from __future__ import annotations

import argparse

HELP = "where everything is, and why just there"


def add_options(parser: argparse.ArgumentParser) -> None:
    """One of them at most."""
    one = parser.add_mutually_exclusive_group()
    one.add_argument("--library", action="store_true", help="only the path of libcupola.so")
    one.add_argument("--include", action="store_true", help="only the folder of the headers")
    one.add_argument("--cpu-driver", action="store_true", help="only the CPU device's path")
    one.add_argument(
        "--cmake-dir", action="store_true", help="only cupola_DIR for CMake, with cupola.pc in it"
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
