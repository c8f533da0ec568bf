# cupola/judging/launches.py - launches of a candidate, and what is wrong in them.
"""A launch of a candidate: its case, its expected results, and the findings about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cupola.exceptions import ArgumentValueError
from cupola.judging.candidate import EXACT, TITLE, Candidate, Layout, Run
from cupola.judging.comparison import described, wrong_elements
from cupola.judging.inputs import ORDINARY, Case, Cases
from cupola.judging.reference import BrokenReference, Reference
from cupola.judging.reports import findings_of
from cupola.judging.task import Task
from cupola.judging.verdict import Finding

_MOST_FAULTS = 2
_FATAL = ("timeout", "memory-limit", "output-limit", "exit")
Arrays = Mapping[str, np.ndarray[Any, Any]]


@dataclass
class Origin:
    """The launch that showed a finding."""

    task: Task
    kernel: str
    case: Case
    layout: Layout
    seed: int | None


class Stop(Exception):
    """No further launches are useful."""


@dataclass
class Launches:
    """The launches of one candidate.

    Attributes
    ----------
    task : Task
    cases : Cases
    reference : Reference or None
        None where results are compared with no reference (`cupola.judging.own_results`).
    candidate : Candidate
    names : mapping
        The kernel for each combination of element types.
    """

    task: Task
    cases: Cases
    reference: Reference | None
    candidate: Candidate
    names: Mapping[tuple[str, ...], str]
    findings: list[Finding] = field(default_factory=list)
    origins: dict[int, Origin] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)  # reasons why cases did not run
    kinds: dict[str, int] = field(default_factory=dict)  # cases by the kind of their values
    faults: int = 0
    _known: set[tuple[str, int]] = field(default_factory=set)
    _seed: int = 0

    @property
    def file(self) -> str:
        """The source that has the lines of findings; "" for the candidate itself."""
        return "" if self.candidate.title == TITLE else self.candidate.title

    @property
    def compares(self) -> bool:
        """Whether results are compared with a reference's."""
        return True

    def case(self, sizes: Mapping[str, int], kind: str, types: tuple[str, ...]) -> Case | None:
        self._seed += 1
        try:
            return self.cases.case(sizes, kind, self._seed, types)
        except ArgumentValueError as error:
            self.skip(str(error))
            return None

    def expected(self, case: Case, twice: bool = False) -> Arrays | None:
        """The reference's results; None where it refuses unusual sizes or values."""
        assert self.reference is not None
        try:
            made = self.reference.answer(self.task, case)
            again = self.reference.answer(self.task, case) if twice else made
        except BrokenReference as error:
            unusual = case.kind != ORDINARY or 0 in case.sizes.values()
            if error.code != "reference-raises" or not unusual:
                raise
            self.skip(f"the reference refuses {case.kind} values or empty sizes: {error.text}")
            return None
        for name, one in made.items():
            if one.tobytes() != again[name].tobytes():
                raise BrokenReference(
                    "reference-random", f"{name} differs between two calls for {case.sizes}"
                )
        return made

    def compared(
        self, case: Case, expected: Arrays, layout: Layout, seed: int | None = None,
        task: Task | None = None,
    ) -> tuple[Run, str]:  # fmt: skip
        """Launch, add what checks find, and describe the first wrong element."""
        origin = self.origin(case, layout, seed, task)
        try:
            run = self.candidate.run(origin.task, origin.kernel, case, layout, seed)
        except ArgumentValueError as error:
            self.skip(str(error))
            return Run(error="skipped"), ""
        self.kinds[case.kind] = self.kinds.get(case.kind, 0) + 1
        for one in findings_of(run, self.candidate.title):
            self.add(one, origin)
        if run.failed:
            self.faults += 1
            fatal = run.ended is not None or any(one.code in _FATAL for one in self.findings)
            if fatal or self.faults >= _MOST_FAULTS:
                raise Stop
            self.candidate.restart()
            return run, ""
        self._inputs(run, origin)
        for name, wanted in expected.items():
            rtol, atol = self.task.tolerance(wanted.dtype)
            mask = wrong_elements(wanted, run.arrays[name], rtol, atol, case.kind)
            if mask.any():
                return run, described(name, wanted, run.arrays[name], mask)
        return run, ""

    def _inputs(self, run: Run, origin: Origin) -> None:
        """Find inputs that the launch has changed and may not."""
        for tensor in origin.task.declaration.inputs:
            if tensor.mutated or tensor.name in origin.layout.aliases.values():
                continue
            if tensor.name not in origin.case.arrays:
                continue  # an optional input that is not given
            before, after = origin.case.arrays[tensor.name], run.arrays[tensor.name]
            if before.tobytes() != after.tobytes():
                self.add(Finding("writes-input", f"{tensor.name} was changed"), origin)

    def add(self, finding: Finding, origin: Origin) -> None:
        key = finding.code, finding.line
        if key in self._known:
            return
        self._known.add(key)
        finding.sizes, finding.file = dict(origin.case.sizes), self.file if finding.line else ""
        self.origins[id(finding)] = origin
        self.findings.append(finding)

    def origin(
        self, case: Case, layout: Layout = EXACT, seed: int | None = None, task: Task | None = None
    ) -> Origin:
        return Origin(task or self.task, self.names[case.types], case, layout, seed)

    def skip(self, reason: str) -> None:
        self.skipped[reason[:200]] = self.skipped.get(reason[:200], 0) + 1
