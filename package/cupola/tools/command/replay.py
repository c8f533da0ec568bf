# cupola/tools/command/replay.py - python -m cupola replay CASE.
"""Runs recorded launches again, and compares what they write with what was recorded."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cupola.exceptions import ArgumentValueError
from cupola.tools.command.values import number, tolerance, word

if TYPE_CHECKING:
    from cupola.recording import Case, Outcome

HELP = "run recorded launches again, by default on the CPU device, and compare the results"
EPILOG = """\
CASE is a file of `record` or cupola.record. Each launch gets the contents of memory that it had
when it was recorded. The exit status is 0 if all bytes after the launches are those that were
recorded and no check found anything, else 1.

  cupola replay case.cupola
  cupola replay case.cupola --check all
  cupola replay case.cupola --rtol 1e-6 --test tests
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the case, the device, and what is checked."""
    add = parser.add_argument
    add("case", type=Path, metavar="CASE", help="a file of `record` or cupola.record")
    add("--device", type=number, metavar="N",
        help="run on this device (default: the CPU device)")  # fmt: skip
    add("--rtol", type=tolerance, default=0.0, metavar="X",
        help="relative tolerance of floats (default: bits are compared)")  # fmt: skip
    add("--atol", type=tolerance, default=0.0, metavar="X", help="absolute tolerance of floats")
    add("--check", type=word, metavar="CHECKS",
        help="checks of the CPU device, as CUPOLA_CPU_CHECK names them: memory, race, init, sync, "
        "or all")  # fmt: skip
    add("--seed", type=number, metavar="N",
        help="the order of blocks and warps on the CPU device, as CUPOLA_CPU_SEED")  # fmt: skip
    add("--coverage", type=Path, metavar="FILE",
        help="count lines on the CPU device, as CUPOLA_CPU_COVERAGE")  # fmt: skip
    add("--image", type=Path, metavar="FILE",
        help="take the kernels of this file, such as repaired ones")  # fmt: skip
    add("--profile", type=Path, metavar="FILE",
        help="write the times of copies and kernels in Chrome's trace format")  # fmt: skip
    add("--debug", action="store_true",
        help="stop in the kernels, at the prompt of `debug` (only on the CPU device)")  # fmt: skip
    add("--limit", type=positive_bytes, metavar="BYTES",
        help="the most bytes that the file's contents can have (default: 4 GiB)")  # fmt: skip
    add("--test", type=Path, metavar="FOLDER",
        help="write a pytest file and a copy of the case, and run nothing")  # fmt: skip


def positive_bytes(text: str) -> int:
    """An option's number of bytes."""
    if not text.isascii() or not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError(f"expected a number of bytes from 1 on, got {text!r}")
    return int(text)


def run(options: argparse.Namespace) -> int:
    """The exit status: 1 if bytes differ, a launch fails, or a check finds something."""
    from cupola.recording import read
    from cupola.recording.case import LIMIT

    if options.debug:
        return _debug(options)
    case = read(options.case, limit=options.limit or LIMIT)
    for lost in case.left_out:
        print(f"not recorded: {lost['kernel']}, {lost['count']} launches: {lost['reason']}")
    if case.stopped:
        print(f"the recording stopped early: {case.stopped}")
    if not case.complete:
        print("the recording process ended before the recording did")
    if options.test is not None:
        from cupola.recording import written_test

        written = written_test.write(case, options.test, options.rtol, options.atol, options.image)
        print(f"wrote {written}")
        return 0
    _set_environment(options, case)
    if not case.launches:
        raise ArgumentValueError(f"{case.file} has no launches: nothing can be replayed")
    device = "cpu" if options.device is None else options.device
    outcomes = _replay(case, device, options)
    for one in outcomes:
        equal = "equal" if one.compared else "ran; the case has no contents after it"
        failed = f"fails as when it was recorded: {one.error}" if one.error else ""
        lost = f"not replayed: {one.no_code.splitlines()[0]}" if one.no_code else ""
        print(f"launch {one.number}, {one.kernel}: {lost or one.difference or failed or equal}")
    if len(outcomes) < len(case.launches):
        print(f"launches {len(outcomes)} to {len(case.launches) - 1} did not run after that error")
    sys.stdout.flush()
    differs = any(one.difference for one in outcomes)
    return int(differs or _findings(options) > 0)


def _replay(case: Case, device: str | int, options: argparse.Namespace) -> list[Outcome]:
    from contextlib import nullcontext

    import cupola
    from cupola.recording import replay

    with nullcontext() if options.profile is None else cupola.profile(options.profile):
        return replay(
            case, device=device, rtol=options.rtol, atol=options.atol, image=options.image
        )


def _debug(options: argparse.Namespace) -> int:
    """Run the same replay as a program of the debugger."""
    from cupola.tools.command import debug

    if options.device is not None or options.test is not None:
        raise ArgumentValueError("--debug replays on the CPU device: leave --device and --test out")
    line = ["-m", "cupola", "replay", os.fspath(options.case)]
    for name in ("rtol", "atol", "check", "seed", "coverage", "limit", "profile", "image"):
        if (value := getattr(options, name)) is not None:
            line += [f"--{name}", str(value)]
    return debug.run(argparse.Namespace(program=line, dap=False, port=None, commands=[]))


def _set_environment(options: argparse.Namespace, case: Case) -> None:
    """Set the variables that the CPU device reads when it is loaded."""
    from cupola.image.devices import known_devices

    given = {
        "CUPOLA_CPU_CHECK": options.check,
        "CUPOLA_CPU_SEED": options.seed,
        "CUPOLA_CPU_COVERAGE": options.coverage,
    }
    wanted = {name: str(value) for name, value in given.items() if value is not None}
    if wanted and options.device is not None:
        raise ArgumentValueError(
            "--check, --seed and --coverage are of the CPU device: leave --device out"
        )
    os.environ.update(wanted)
    recorded = case.device["compute_capability"]
    if options.device is None and recorded in known_devices():
        os.environ.setdefault("CUPOLA_CPU_COMPUTE_CAPABILITY", recorded)


def _findings(options: argparse.Namespace) -> int:
    """The number of findings of the CPU device's checks."""
    if options.device is not None or not os.environ.get("CUPOLA_CPU_CHECK"):
        return 0
    import ctypes

    from cupola import paths

    return int(ctypes.CDLL(os.fspath(paths.cpu_driver())).cupola_cpu_findings())
