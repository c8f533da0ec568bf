# cupola/judging/diagnosis.py - why a result is wrong.
"""Launches again with other memory, other values and in a new process, and compares the results."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.judging.candidate import EXACT, GUARDED, OTHER
from cupola.judging.inputs import ORDINARY, Case
from cupola.judging.launches import Arrays, Launches, Origin
from cupola.judging.verdict import Finding


def diagnose(launches: Launches, case: Case, expected: Arrays) -> None:
    """Find out why a result is wrong."""
    origin = launches.origin(case, GUARDED)
    made = {}
    layouts = {"exact": EXACT, "again": EXACT, "fill": GUARDED, "other": OTHER}
    for key, layout in layouts.items():
        made[key], _ = launches.compared(case, expected, layout)
        if made[key].failed:
            return
    for name, wanted in expected.items():
        fill, other = (made[key].arrays[name] for key in ("fill", "other"))
        one, two = (np.full(wanted.nbytes, layout.fill, np.uint8).view(wanted.dtype)[:1]
                    for layout in (GUARDED, OTHER))  # fmt: skip
        if wanted.size and not any(
            tensor.mutated and tensor.name == name for tensor in launches.task.declaration.inputs
        ):
            kept = _same(fill, one) & _same(other, two)
            if kept.any():
                text = f"{int(kept.sum()):,} of {kept.size:,} elements of {name}"
                launches.add(Finding("output-not-written", f"{text} are not written"), origin)
            elif fill.tobytes() != other.tobytes():
                launches.add(
                    Finding("uninitialised", f"{name} depends on what it held before"), origin
                )
            elif made["exact"].arrays[name].tobytes() != made["again"].arrays[name].tobytes():
                text = f"{name} differs between two equal launches"
                launches.add(Finding("not-deterministic", text), origin)
            else:
                _constant(launches, case, name, made["exact"].arrays[name], origin)
    _state(launches, case, expected, origin)


def _constant(launches: Launches, case: Case, name: str, before: Any, origin: Origin) -> None:
    other = launches.case(case.sizes, ORDINARY, case.types)
    wanted = launches.expected(other) if other else None
    if other is None or wanted is None:
        return
    run, wrong = launches.compared(other, wanted, EXACT)
    if wrong and not run.failed and run.arrays[name].tobytes() == before.tobytes():
        launches.add(Finding("output-constant", f"{name} is the same for two inputs"), origin)


def _state(launches: Launches, case: Case, expected: Arrays, origin: Origin) -> None:
    """A result that is right in a new process depends on earlier launches."""
    before = len(launches.findings)
    launches.candidate.restart()
    run, wrong = launches.compared(case, expected, EXACT)
    if not wrong and not run.failed and len(launches.findings) == before:
        again, guarded = launches.compared(case, expected, GUARDED)
        if not guarded and not again.failed:
            launches.add(Finding("state", "the result is right in a new process alone"), origin)


def _same(found: Any, pattern: Any) -> Any:
    """Where elements have the bytes of a pattern."""
    size = found.dtype.itemsize
    rows = np.ascontiguousarray(found).reshape(-1).view(np.uint8).reshape(-1, size)
    return (rows == np.frombuffer(pattern.tobytes(), np.uint8)).all(axis=1)
