# cupola/tools/command/coverage.py - python -m cupola coverage.
"""Shows and converts the coverage of kernels."""

from __future__ import annotations

import argparse
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from cupola.exceptions import Error, MissingFileError
from cupola.tools.command.values import word

if TYPE_CHECKING:
    from cupola.coverage import Report, SourceFile
    from cupola.coverage.file import CountsFile

HELP = "show the coverage of kernels, or convert it to lcov's format"
EPILOG = """\
CUPOLA_CPU_COVERAGE=FILE makes a program on the CPU device count. Its kernels need line information
(nvcc -lineinfo, or -G for exact lines).
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what to do, the file, and what of it."""
    parser.add_argument(
        "what",
        choices=("report", "lines", "functions", "lcov"),
        help="report: a line for each source file; lines: the sources with the count of each line; "
        "functions: the linkage names; lcov: a tracefile",
    )
    parser.add_argument("file", help="the file that CUPOLA_CPU_COVERAGE named")
    parser.add_argument("-o", "--output", help="write to this file")
    parser.add_argument("--context", help="only what ran in this context")
    parser.add_argument(
        "--function", type=word, help="only this function or instantiation, by its linkage name"
    )
    parser.add_argument(
        "--source",
        type=word,
        action="append",
        help="only source files of this pattern; several are possible (by default those that are "
        "not in a CUDA toolkit)",
    )


def run(options: argparse.Namespace) -> None:
    """Print or write what was asked for."""
    from cupola.coverage import read
    from cupola.coverage.lcov import lcov

    counts = read(options.file)
    unknown = options.context is not None and options.context not in counts.contexts()
    if unknown and counts.functions():
        names = ", ".join(map(repr, counts.contexts())) or "none"
        raise Error(f"{options.file}: no context {options.context!r}; it has {names}")
    report = counts.report(options.context, options.function)
    wanted, known = options.source, list(report.files)
    report.files = {
        path: file
        for path, file in sorted(report.files.items())
        if (any(fnmatch(path, one) for one in wanted) if wanted else not _is_toolkit_file(path))
    }
    if not report.files and options.what != "functions":
        why = f"{options.file}: {_why_empty(counts, known, options)}"
        if options.function or options.source or options.context is not None:
            raise Error(why)
        print(f"cupola: {why}", file=sys.stderr)
    if options.what == "functions":
        text = "".join(f"{name}\n" for name in counts.functions())
    elif options.what == "lcov":
        text = lcov(report)
    elif options.what == "lines":
        text = "".join(map(_lines, report.files.values()))
    else:
        text = _table(report)
    if options.output:
        # Writes the bytes of file names that are not UTF-8.
        Path(options.output).write_text(text, encoding="utf-8", errors="surrogateescape")
    else:
        sys.stdout.write(text)


def _why_empty(counts: CountsFile, known: list[str], options: argparse.Namespace) -> str:
    """The reason why a report has no source file.

    Parameters
    ----------
    known
        The files that --function leaves.
    """
    if known:
        return (
            f"no file is shown of {', '.join(sorted(known)[:5])}: choose with --source, as "
            "--source '*'"
        )
    if counts.functions():
        return f"no function {options.function}; `functions` lists them"
    return (
        "nothing was counted: no module with line information was loaded on the CPU device; "
        "compile with -lineinfo, or with -G for exact lines (CUPOLA_COVERAGE=1 in a package's "
        "build)"
    )


def _is_toolkit_file(path: str) -> bool:
    return "/targets/" in path or "/nvidia/" in path or not Path(path).is_absolute()


def _table(report: Report) -> str:
    from cupola.tools.command.table import table

    rows = [("source", "lines", "run", "sides", "taken", "divergent")]
    for path, file in report.files.items():
        branches = [branch for each in file.branches.values() for branch in each]
        sides = [lanes for branch in branches for _, lanes in branch.sides]
        run = sum(line.lanes > 0 for line in file.lines.values())
        numbers = len(file.lines), run, len(sides), sum(lanes > 0 for lanes in sides)
        divergent = sum(branch.divergent > 0 for branch in branches)
        rows.append((path, *map(str, numbers), str(divergent)))
    return table(rows) + "\n"


def _lines(file: SourceFile) -> str:
    text = [f"{file.path}\n      threads  masked\n"]
    try:
        source = Path(file.path).read_text(errors="replace")
    except OSError as error:
        raise MissingFileError(
            f"the source {file.path} was counted and cannot be read ({error.strerror}); choose "
            "others with --source, or take `report`, which needs no sources"
        ) from None
    for number, line in enumerate(source.splitlines(), 1):
        count = file.lines.get(number)
        counted = f"{count.lanes:13}{count.masked:8}" if count else " " * 21
        notes = [
            ("diverges" if branch.divergent else "never divergent")
            + "".join(f", {lanes} to {to or '?'}" for to, lanes in branch.sides)
            for branch in file.branches.get(number, [])
        ]
        text.append(f"{counted} {number:5}  {line}" + "".join(f"  [{one}]" for one in notes))
        text.append("\n")
    return "".join(text)
