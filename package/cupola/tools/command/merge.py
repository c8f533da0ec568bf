# package/cupola/tools/command/merge.py - python -m cupola merge A.whl B.whl -o C.whl.
"""Joins wheels of one tree that were built for other targets."""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = "join wheels of the same sources that were built for different targets"
EPILOG = """\
The wheels have the same file name, so each lies in a folder of its own. They must be of the same
sources, toolkit, Python and platform. The result has the bytes of one build for all targets.

  CUPOLA_ARCHITECTURES=75,80,90 pip wheel --no-deps -w first .     # on one machine
  CUPOLA_ARCHITECTURES=100,120 pip wheel --no-deps -w second .     # on another
  cupola merge first/heat-1.0-py3-none-any.whl second/heat-1.0-py3-none-any.whl -o dist"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the wheels, and the place of the result."""
    parser.add_argument("wheels", type=Path, nargs="+", metavar="WHEEL", help="the wheels to join")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="PATH",
        help="the wheel to write, or a folder for it")  # fmt: skip


def run(options: argparse.Namespace) -> None:
    """Write the wheel, and print what was left out."""
    from cupola.build.wheel_merge import merge_wheels

    for line in merge_wheels(options.wheels, options.output):
        print(line)
