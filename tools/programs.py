# tools/programs.py - programs of other projects: each is run, and its output is judged.
"""Runs programs in the environment of `cupola run`, and writes a record of those that pass."""

from __future__ import annotations

import dataclasses
import importlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from cupola.tools.run.environment import variables

sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))
records = importlib.import_module("records")

SECONDS = 120


@dataclasses.dataclass
class Result:
    """ "passed", "failed" or "waived", the seconds that it took, and why it did not pass."""

    verdict: str
    seconds: float
    why: str = ""

    def row(self, name: str) -> records.Row:
        note = f"{self.verdict}: {self.why}" if self.why else self.verdict
        return records.Row(name, round(self.seconds, 2), "s", note=note)


def environment() -> dict[str, str]:
    """The environment of this process with what programs need on the CPU device."""
    now = dict(os.environ)
    return now | variables(now)


def run(
    program: Path, arguments: list[str], variables: dict[str, str], seconds: float = SECONDS
) -> tuple[int | None, float, str]:
    """The status (None: not done in time), the seconds, and the output of one run."""
    begin = time.perf_counter()
    try:
        done = subprocess.run(
            [program, *arguments], cwd=program.parent, env=variables, timeout=seconds,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired as stopped:
        return None, seconds, (stopped.stdout or b"").decode(errors="replace")
    return done.returncode, time.perf_counter() - begin, done.stdout.decode(errors="replace")


def last_line(text: str, pattern: str = "") -> str:
    """The last line that is not empty and has the pattern; empty if no line has."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in reversed(lines) if re.search(pattern, line)), "")


def share(what: str, rows: list[records.Row], goal: float, more: str) -> records.Row:
    """The share of the programs that pass. Programs that decline to run are left out."""
    tried = [row for row in rows if not row.note.startswith("waived")]
    passed = [row for row in tried if row.note.startswith("passed")]
    note = f"{len(passed)} of {len(tried)}; {more}" if more else f"{len(passed)} of {len(tried)}"
    value = round(len(passed) / len(tried), 4) if tried else 0
    return records.Row(what, value, "of 1", goal=f"value >= {goal}", note=note)
