# cupola/tools/command/record.py - python -m cupola record -- PROGRAM ...
"""Records the kernel launches of any program that uses CUDA."""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cupola.tools.command.replay import positive_bytes
from cupola.tools.command.run import (
    add_program,
    command,
    program_of,
    shell_status,
    uses_cpu_device,
)
from cupola.tools.command.values import number, word

if TYPE_CHECKING:
    from cupola.recording.program import Choice, Made

HELP = "record kernel launches of any program that uses CUDA, for `replay`"
EPILOG = """\
PROGRAM is a Python file, an executable, or a command, as for `run`. It runs on the driver that it
would use without this command, behind a libcuda.so.1 of cupola's that LD_LIBRARY_PATH begins with.
The exit status is the program's; 1 if the program ended with 0 and no launch was recorded.

  cupola record --kernel step --nth 3 -- python train.py
  cupola record --launches 0:10 -o first.cupola ./simulate
  cupola record --fault -- python train.py

Each process with recorded launches gets a file of its own: case.cupola, case-2.cupola, ...
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the choice of launches, the file, and the program with its arguments."""
    add = parser.add_argument
    add("-k", "--kernel", type=pattern, metavar="REGEX",
        help="record kernels in whose mangled or C++ name this is found "
        "(default: all)")  # fmt: skip
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--nth", type=number, metavar="N",
        help="record the launch with this number, from 0, among those of these "
        "kernels")  # fmt: skip
    which.add_argument("--launches", type=launches, metavar="A:B",
        help="record the launches from number A on, before number B")  # fmt: skip
    which.add_argument("--fault", action="store_true",
        help="keep what each launch needs, and write the launch that fails alone")  # fmt: skip
    add("--limit", type=positive_bytes, default=1 << 30, metavar="BYTES",
        help="the most bytes of memory contents, before compression (default: 1 GiB); with "
        "--fault, of one launch")  # fmt: skip
    add("-o", "--output", type=Path, default=Path("case.cupola"), metavar="CASE",
        help="the file (default: case.cupola)")  # fmt: skip
    add("--cpu", action="store_true", help="use the CPU device even where there is a GPU")
    add_program(parser)


def pattern(text: str) -> str:
    """An option's regular expression."""
    try:
        re.compile(word(text))
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no regular expression: {error}") from None
    return text


def launches(text: str) -> tuple[int, int | None]:
    """An option's range of launches."""
    found = re.fullmatch(r"(\d{0,15}):(\d{0,15})", text, re.ASCII)
    if found is None:
        raise argparse.ArgumentTypeError(f"expected A:B, as in 0:3, got {text!r}")
    first, end = int(found[1] or 0), int(found[2]) if found[2] else None
    if end is not None and end <= first:
        raise argparse.ArgumentTypeError(f"{text!r} has no launch: B is above A")
    return first, end


def run(options: argparse.Namespace) -> int:
    """The program's exit status; 1 if nothing was recorded."""
    from cupola.recording import program
    from cupola.tools.run import environment

    given = program_of(options)
    if not given:
        raise OSError("no program to record: python -m cupola record -- PROGRAM ...")
    cpu = options.cpu or uses_cpu_device()
    values = dict(os.environ)
    if cpu:
        values.update(environment.variables(values))
    else:
        values.update(environment.keeping_ptx(values))
    choice = _choice(options)
    status, made = program.run(
        command(given, values), values, choice, program.real_driver(cpu=cpu), options.output
    )
    sys.stdout.flush()
    _report(made, choice)
    recorded = any(one.count for one in made)
    return shell_status(status) or int(not recorded and not choice.fault)


def _choice(options: argparse.Namespace) -> Choice:
    from cupola.recording.program import Choice

    first, end = options.launches or (0, None)
    if options.nth is not None:
        first, end = options.nth, options.nth + 1
    return Choice(options.kernel or "", first, end, options.limit, options.fault)


def _report(made: list[Made], choice: Choice) -> None:
    for one in made:
        lost = f"; {one.left_out} launches were left out" if one.left_out else ""
        print(f"cupola: wrote {one.count} launches to {one.path}{lost}", file=sys.stderr)
        if one.stopped:
            print(f"cupola: the recording stopped early: {one.stopped}", file=sys.stderr)
        if one.code and "ptx" not in one.code:
            print(
                f"cupola: {one.path} has machine code alone ({', '.join(sorted(one.code))}): "
                "replay it with --device on a GPU that the code is built for",
                file=sys.stderr,
            )
    if made:
        return
    if choice.fault:
        print("cupola: no launch failed: no case was written", file=sys.stderr)
    else:
        what = f"kernels that match {choice.kernels!r}" if choice.kernels else "kernels"
        print(
            f"cupola: the program launched no {what} in the chosen range: no case was written",
            file=sys.stderr,
        )
