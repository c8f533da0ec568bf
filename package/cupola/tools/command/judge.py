# cupola/tools/command/judge.py - python -m cupola judge CANDIDATE.
"""Judges whether a kernel, or an operation of a package, does what it should."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from cupola.exceptions import ArgumentValueError
from cupola.tools.command.values import duration, word

HELP = "judge whether a kernel or an operation of a package is right, without a GPU"
EPILOG = """\
CANDIDATE is CUDA C++, or an operation of an installed package, as in heat:step. It runs in a
process with limits, and no host code of it runs. The package is not imported: its manifest has the
declaration, and its image the code.

The Python file of --against has the declaration of the operation and the function reference; it is
run, so it must be trusted. For an operation of a package the file is optional. Without reference,
the results are not compared with other results. Gradients are compared with finite differences.

The exit status is 0 if the candidate is right, 1 if it is wrong, and 2 if it can't be judged.

  cupola judge candidate.cu --against reference.py
  cupola judge heat:step
  cupola judge heat:step --against reference.py
  cupola judge candidate.cu --against reference.py --json verdict.json --cases cases
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the candidate, the reference, and where the verdict goes."""
    add = parser.add_argument
    add("candidate", type=word, metavar="CANDIDATE",
        help="a source in CUDA C++, or an operation: PACKAGE:NAME")  # fmt: skip
    add("--against", type=Path, metavar="FILE",
        help="the Python file with the operation and its reference")  # fmt: skip
    add("--json", type=Path, metavar="FILE", help="write the verdict as JSON; - prints it")
    add("--junit", type=Path, metavar="FILE", help="write the verdict as a report of JUnit")
    add("--cases", type=Path, metavar="FOLDER",
        help="write a file for each finding, for cupola replay")  # fmt: skip
    add("--include", type=Path, action="append", default=[], metavar="FOLDER",
        help="a folder of headers that the candidate may include; may be repeated")  # fmt: skip
    add("--option", type=word, action="append", default=[], metavar="OPTION",
        help="an option of the compiler, as in --option=-DN=4; may be repeated")  # fmt: skip
    add("--seconds", type=duration, default=4.0, metavar="SECONDS",
        help="after which no inputs are added (default: 4)")  # fmt: skip
    add("--timeout", type=duration, default=5.0, metavar="SECONDS",
        help="the time limit of one launch (default: 5)")  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Print the verdict; the exit status is 0, 1 or 2."""
    from cupola.judging import Limits, judge
    from cupola.judging.shipped import is_operation

    candidate = options.candidate
    if not is_operation(candidate):
        candidate = Path(candidate)
        if options.against is None:
            raise ArgumentValueError(f"{candidate} is a source: name its reference with --against")
    verdict = judge(
        candidate, against=options.against, include=options.include,
        options=options.option, cases=options.cases, seconds=options.seconds,
        limits=replace(Limits(), launch_seconds=options.timeout),
    )  # fmt: skip
    if options.json is not None and str(options.json) != "-":
        options.json.write_text(verdict.json() + "\n", encoding="utf-8")
    if options.junit is not None:
        options.junit.write_text(verdict.junit() + "\n", encoding="utf-8")
    print(verdict.json() if str(options.json) == "-" else verdict)
    return verdict.status
