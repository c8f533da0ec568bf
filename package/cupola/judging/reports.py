# cupola/judging/reports.py - findings from the reports of the CPU device.
"""Reads the texts of checks and faults of the CPU device."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cupola.judging.candidate import TITLE, Run
from cupola.judging.verdict import Finding

_CODES = {"memory": "memory", "race": "race", "init": "uninitialised", "sync": "barrier"}
_UNAWAITED = "before an asynchronous copy is complete"  # a race of this text is a missing wait
_START = "========= cupola: "
_ADDRESS = re.compile(r":? at 0x[0-9a-f]+|: 0x[0-9a-f]+")
_ERRORS = (
    (r"CUDA_ERROR_LAUNCH_TIMEOUT|time limit|timeout", "timeout"),
    (r"CUDA_ERROR_ILLEGAL_ADDRESS|CUDA_ERROR_MISALIGNED_ADDRESS|illegal address|misaligned",
     "memory"),
    (r"OUT_OF_MEMORY", "memory-limit"),
    (r"deadlock|barrier", "barrier"),
)  # fmt: skip


def findings_of(run: Run, title: str = TITLE) -> Iterator[Finding]:
    """The findings of the checks, of a fault and of the guard zones of a launch.

    Parameters
    ----------
    run : Run
    title : str
        The name of the source whose lines are named; "" for none.
    """
    seen = set()
    folder = re.compile(rf"/[^()\s]*/(?={re.escape(title)})")
    for report in run.findings.split(_START)[1:]:
        lines = report.splitlines()
        kind, _, text = lines[0].partition(": ")
        if kind not in _CODES:
            continue
        rest = [one.replace("=========", "", 1).strip() for one in lines[1:] if one.strip()]
        code = "missing-wait" if _UNAWAITED in text else _CODES[kind]
        seen.add(code)
        yield Finding(
            code, _ADDRESS.sub("", text), _line(report, title),
            check=folder.sub("", "\n".join([lines[0], *rest])),
        )  # fmt: skip
    if run.ended is not None:
        yield Finding(run.ended.code, run.ended.text)
    elif run.error:
        text = folder.sub("", run.fault or run.error)
        code = next((code for pattern, code in _ERRORS if re.search(pattern, run.error)), "")
        code = code or next(
            (code for pattern, code in _ERRORS if re.search(pattern, text)), "launch-error"
        )
        if code not in seen:
            yield Finding(
                code, _ADDRESS.sub("", text.splitlines()[0]), _line(text, title), check=text
            )
    for one in run.outside:
        yield Finding("writes-outside", f"bytes {one} were written")


def _line(text: str, title: str) -> int:
    found = re.search(rf"\((?:[^()]*/)?{re.escape(title)}:(\d+)\)", text) if title else None
    return int(found[1]) if found else 0
