# cupola/coverage/lcov.py - coverage in lcov's format.
"""Writes the tracefile that lcov, genhtml and services of coverage read (geninfo(1))."""

from __future__ import annotations

from collections.abc import Iterator

from cupola.coverage.report import Report, SourceFile


def lcov(report: Report, test: str = "") -> str:
    """The counts as the text of a tracefile.

    A line's count is the number of threads that ran it. ``BRDA`` has each side of each branch, also
    those within a line; a side of a branch that never ran is ``-``.
    """
    return "".join(
        f"{line}\n" for file in report.files.values() for line in _statements(file, test)
    )


def _statements(file: SourceFile, test: str) -> Iterator[str]:
    yield f"TN:{test}"
    yield f"SF:{file.path}"
    sides = 0
    taken = 0
    for line, branches in sorted(file.branches.items()):
        for block, branch in enumerate(branches):
            ran = any(lanes for _, lanes in branch.sides)
            for side, (_, lanes) in enumerate(branch.sides):
                yield f"BRDA:{line},{block},{side},{lanes if ran else '-'}"
                sides += 1
                taken += lanes > 0
    yield f"BRF:{sides}"
    yield f"BRH:{taken}"
    for number, count in sorted(file.lines.items()):
        yield f"DA:{number},{count.lanes}"
    yield f"LF:{len(file.lines)}"
    yield f"LH:{sum(line.lanes > 0 for line in file.lines.values())}"
    yield "end_of_record"
