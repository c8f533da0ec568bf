# package/cupola/tools/command/split.py - python -m cupola split WHEEL --part NAME=TARGETS.
"""Moves machine code for some targets into wheels of their own."""

from __future__ import annotations

import argparse
from pathlib import Path

from cupola.exceptions import ArgumentValueError
from cupola.tools.command.values import word

HELP = "move machine code for some targets out of a wheel, into wheels that extras install"
EPILOG = """\
The wheels of the parts have the package's name and that of the part: mykernels-sm90a. The package
names each part as an extra: sm90a = ["mykernels-sm90a==1.0"]. PTX stays in the first wheel.

  cupola split wheels/mykernels-1.0-py3-none-any.whl --part sm90a=90a --part new=100,120 -o dist"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the wheel, the parts, and the folder of the results."""
    add = parser.add_argument
    add("wheel", type=Path, metavar="WHEEL", help="a wheel with all targets")
    add("--part", type=word, action="append", required=True, metavar="NAME=TARGETS",
        help="an extra, and the targets that its wheel gets, as in sm90a=90a; may be "
        "repeated")  # fmt: skip
    add("-o", "--output", type=Path, required=True, metavar="FOLDER",
        help="the folder for the wheels")  # fmt: skip


def run(options: argparse.Namespace) -> None:
    """Write the wheels, and print their names."""
    from cupola.build.wheel_split import split_wheel

    parts = {}
    for text in options.part:
        name, equals, targets = text.partition("=")
        if not equals or name in parts:
            raise ArgumentValueError(f"--part {text}: expected each part once, as in sm90a=90a")
        parts[name] = targets.split(",")
    for line in split_wheel(options.wheel, parts, options.output):
        print(line)
