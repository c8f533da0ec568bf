# cupola/judging/trials.py - runs a candidate over cases, and collects what is wrong.
"""The trials of a candidate: sizes, values, orders, launches, aliases."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cupola.exceptions import ArgumentValueError
from cupola.judging.candidate import EXACT, GUARDED, OTHER, Candidate, Layout, Run
from cupola.judging.comparison import described, wrong_elements
from cupola.judging.inputs import KINDS, ORDINARY, Case, Cases
from cupola.judging.reference import BrokenReference, Reference
from cupola.judging.reports import findings_of
from cupola.judging.task import Task
from cupola.judging.verdict import Finding

ORDERS = 20
_MOST_FAULTS, _MOST_WRONG = 2, 8
_LONG = 0.25  # seconds of a launch, after which sizes do not grow
_STILL = 2  # rounds without new lines and branches, after which no inputs are added
_FATAL = ("timeout", "memory-limit", "output-limit", "exit")
_Arrays = Mapping[str, np.ndarray[Any, Any]]


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
class Trials:
    """The trials of one candidate.

    Attributes
    ----------
    task : Task
    cases : Cases
    reference : Reference
    candidate : Candidate
    names : mapping
        The kernel for each combination of element types.
    seconds : float
        After these, no inputs are added.
    """

    task: Task
    cases: Cases
    reference: Reference
    candidate: Candidate
    names: Mapping[tuple[str, ...], str]
    seconds: float
    findings: list[Finding] = field(default_factory=list)
    origins: dict[int, Origin] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)  # reasons why cases did not run
    kinds: dict[str, int] = field(default_factory=dict)  # cases by the kind of their values
    faults: int = 0
    _known: set[tuple[str, int]] = field(default_factory=set)
    _right: list[Case] = field(default_factory=list)
    _wrong: list[tuple[Case, str]] = field(default_factory=list)
    _seed: int = 0

    @property
    def largest(self) -> Case | None:
        """The largest case that was right."""
        return next(iter(self._chosen(1)), None)

    def run(self) -> None:
        """All trials, as far as faults and the time allow.

        Raises
        ------
        BrokenReference
        """
        self._end = time.monotonic() + self.seconds
        try:
            for place, types in enumerate(self.names):
                self._sizes(types, place > 0)
            if not self._wrong and not self.faults:
                for types in self.names:
                    self._values(types)
                self._orders()
                self._launches()
                self._aliases()
                self._grow()
        except Stop:
            pass
        self._conclude()

    # -- the trials -------------------------------------------------------------------------------

    def _sizes(self, types: tuple[str, ...], few: bool) -> None:
        every = self.cases.sizes()
        largest, slow = 0, False
        for place, sizes in enumerate(every[:: 6 if few else 1]):
            count = self.cases.elements(sizes) or 0
            if (slow or time.monotonic() > self._end) and count > largest:
                self._skip("later sizes would take too long")
                continue
            case = self._case(sizes, ORDINARY, types)
            expected = self._expected(case, twice=place < 3) if case else None
            if case is None or expected is None:
                continue
            start = time.monotonic()
            wrong = self._trial(case, expected, EXACT)
            slow = slow or time.monotonic() - start > _LONG
            largest = max(largest, count)
            if not wrong:
                wrong = self._trial(case, expected, GUARDED)
            self._note(case, wrong)
            if wrong and len(self._wrong) == 1:
                self._diagnose(case, expected)
            if len(self._wrong) >= _MOST_WRONG and self._right:
                break

    def _note(self, case: Case, wrong: str) -> None:
        if wrong:
            self._wrong.append((case, wrong))
        elif case.sizes and all(case.sizes.values()):
            self._right.append(case)

    def _values(self, types: tuple[str, ...]) -> None:
        chosen = self._chosen(3)
        for kind in (*KINDS, ORDINARY):
            for basis in chosen:
                case = self._case(basis.sizes, kind, types)
                expected = self._expected(case) if case else None
                if case is None or expected is None:
                    continue
                run, found = self._compared(case, expected, EXACT)
                if found:
                    code = self._special(kind, expected, run)
                    self._add(Finding(code, f"{kind} values: {found}"), self._origin(case))
                    break

    def _special(self, kind: str, expected: _Arrays, run: Run) -> str:
        if kind == "nan":
            for name, one in expected.items():
                if one.dtype.kind in "fc" and (np.isnan(one) & ~np.isnan(run.arrays[name])).any():
                    return "nan-swallowed"
        plain = kind in (ORDINARY, "zeros", "ones", "few", "negative")
        return "wrong-result" if plain else "special-values"

    def _orders(self) -> None:
        for case in self._chosen(2):
            expected = self._expected(case)
            if expected is None:
                continue
            start = time.monotonic()
            for seed in range(ORDERS):
                _, found = self._compared(case, expected, EXACT, seed)
                if found:
                    text = f"order of seed {seed}: {found}"
                    self._add(Finding("depends-on-order", text), self._origin(case, seed=seed))
                    break
                if time.monotonic() - start > self.seconds:
                    self._skip("later orders would take too long")
                    break

    def _launches(self) -> None:
        if {"block", "grid"} & set(self.task.chosen):
            return
        for launch in self.task.launches:
            task = self.task.other(launch)
            for case in self._chosen(4):
                expected = self._expected(case)
                if expected is None:
                    continue
                before = len(self.findings)
                run, found = self._compared(case, expected, EXACT, None, task)
                for one in self.findings[before:]:
                    one.text = f"with {launch}: {one.text}"
                if run.failed or found:
                    self._add(
                        Finding("block-size", f"with {launch}: {found or 'the launch fails'}"),
                        self._origin(case, task=task),
                    )
                    break

    def _aliases(self) -> None:
        """Inputs of one type and shape may be one array; outputs as far as the task says so."""
        for case in self._chosen(3):
            given = [one.name for one in self.task.declaration.inputs if not one.mutated]
            for place, name in enumerate(given):
                array = case.arrays[name]
                for other in given[:place]:
                    before = case.arrays[other]
                    # Values of one input need not be valid for another input.
                    if not {name, other} & {*self.task.ranges, *case.own} and (
                        (before.shape, before.dtype) == (array.shape, array.dtype)
                    ):
                        same = replace(case, arrays={**case.arrays, name: before})
                        self._aliased(same, {name: other})
            if self.task.aliases:
                self._aliased(case, self.task.aliases)

    def _aliased(self, case: Case, aliases: Mapping[str, str]) -> None:
        expected = self._expected(case)
        layout = replace(EXACT, aliases=aliases)
        if expected is None:
            return
        for seed in (None, 0, 1, 2):
            _, found = self._compared(case, expected, layout, seed)
            if found:
                text = ", ".join(f"{name} is the memory of {aliases[name]}" for name in aliases)
                self._add(Finding("aliasing", f"{text}: {found}"), self._origin(case, layout, seed))
                return

    def _grow(self) -> None:
        """Add inputs until two rounds reach no further line or side of a branch."""
        reached, still, turn = self._reached(), 0, 0
        while still < _STILL and time.monotonic() < self._end:
            for place, basis in enumerate(self._chosen(4)):
                kind = (ORDINARY, "few", "extreme", "large")[(turn + place) % 4]
                case = self._case(basis.sizes, kind, basis.types)
                expected = self._expected(case) if case else None
                if case is None or expected is None:
                    continue
                run, found = self._compared(case, expected, EXACT)
                if found:
                    code = self._special(kind, expected, run)
                    self._add(Finding(code, f"{kind} values: {found}"), self._origin(case))
            now = self._reached()
            still = 0 if now > reached else still + 1
            reached, turn = now, turn + 1

    def _reached(self) -> int:
        counts = self.candidate.counts()
        return sum(bool(one[-1]) for key in ("lines", "sides") for one in counts[key])

    # -- one launch -------------------------------------------------------------------------------

    def _case(self, sizes: Mapping[str, int], kind: str, types: tuple[str, ...]) -> Case | None:
        self._seed += 1
        try:
            return self.cases.case(sizes, kind, self._seed, types)
        except ArgumentValueError as error:
            self._skip(str(error))
            return None

    def _expected(self, case: Case, twice: bool = False) -> _Arrays | None:
        """The reference's results; None where it refuses unusual sizes or values."""
        try:
            made = self.reference.answer(self.task, case)
            again = self.reference.answer(self.task, case) if twice else made
        except BrokenReference as error:
            unusual = case.kind != ORDINARY or 0 in case.sizes.values()
            if error.code != "reference-raises" or not unusual:
                raise
            self._skip(f"the reference refuses {case.kind} values or empty sizes: {error.text}")
            return None
        for name, one in made.items():
            if one.tobytes() != again[name].tobytes():
                raise BrokenReference(
                    "reference-random", f"{name} differs between two calls for {case.sizes}"
                )
        return made

    def _trial(self, case: Case, expected: _Arrays, layout: Layout) -> str:
        return self._compared(case, expected, layout)[1]

    def _compared(
        self, case: Case, expected: _Arrays, layout: Layout, seed: int | None = None,
        task: Task | None = None,
    ) -> tuple[Run, str]:  # fmt: skip
        """Launch, add what checks find, and describe the first wrong element."""
        origin = self._origin(case, layout, seed, task)
        try:
            run = self.candidate.run(origin.task, origin.kernel, case, layout, seed)
        except ArgumentValueError as error:
            self._skip(str(error))
            return Run(error="skipped"), ""
        self.kinds[case.kind] = self.kinds.get(case.kind, 0) + 1
        for one in findings_of(run):
            self._add(one, origin)
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
            before, after = origin.case.arrays[tensor.name], run.arrays[tensor.name]
            if before.tobytes() != after.tobytes():
                self._add(Finding("writes-input", f"{tensor.name} was changed"), origin)

    # -- what is wrong ----------------------------------------------------------------------------

    def _diagnose(self, case: Case, expected: _Arrays) -> None:
        """Find out why a result is wrong."""
        origin = self._origin(case, GUARDED)
        made = {}
        layouts = {"exact": EXACT, "again": EXACT, "fill": GUARDED, "other": OTHER}
        for key, layout in layouts.items():
            made[key], _ = self._compared(case, expected, layout)
            if made[key].failed:
                return
        for name, wanted in expected.items():
            fill, other = (made[key].arrays[name] for key in ("fill", "other"))
            one, two = (np.full(wanted.nbytes, layout.fill, np.uint8).view(wanted.dtype)[:1]
                        for layout in (GUARDED, OTHER))  # fmt: skip
            if wanted.size and not any(
                tensor.mutated and tensor.name == name for tensor in self.task.declaration.inputs
            ):
                kept = _same(fill, one) & _same(other, two)
                if kept.any():
                    text = f"{int(kept.sum()):,} of {kept.size:,} elements of {name}"
                    self._add(Finding("output-not-written", f"{text} are not written"), origin)
                elif fill.tobytes() != other.tobytes():
                    self._add(
                        Finding("uninitialised", f"{name} depends on what it held before"), origin
                    )
                elif made["exact"].arrays[name].tobytes() != made["again"].arrays[name].tobytes():
                    text = f"{name} differs between two equal launches"
                    self._add(Finding("not-deterministic", text), origin)
                else:
                    self._diagnose_constant(case, name, made["exact"].arrays[name], origin)
        self._diagnose_state(case, expected, origin)

    def _diagnose_constant(self, case: Case, name: str, before: Any, origin: Origin) -> None:
        other = self._case(case.sizes, ORDINARY, case.types)
        wanted = self._expected(other) if other else None
        if other is None or wanted is None:
            return
        run, wrong = self._compared(other, wanted, EXACT)
        if wrong and not run.failed and run.arrays[name].tobytes() == before.tobytes():
            self._add(Finding("output-constant", f"{name} is the same for two inputs"), origin)

    def _diagnose_state(self, case: Case, expected: _Arrays, origin: Origin) -> None:
        """A result that is right in a new process depends on earlier launches."""
        before = len(self.findings)
        self.candidate.restart()
        run, wrong = self._compared(case, expected, EXACT)
        if not wrong and not run.failed and len(self.findings) == before:
            again, guarded = self._compared(case, expected, GUARDED)
            if not guarded and not again.failed:
                self._add(Finding("state", "the result is right in a new process alone"), origin)

    def _conclude(self) -> None:
        """Add the findings about wrong results at sizes."""
        if not self._wrong:
            return
        case, text = min(self._wrong, key=lambda one: sum(one[0].sizes.values()))
        edge = bool(self._right)
        shown = ", ".join(
            "(" + ", ".join(f"{name} = {size}" for name, size in one.sizes.items()) + ")"
            for one, _ in self._wrong[:4]
        )
        self._add(
            Finding(
                "wrong-result-at-edge" if edge else "wrong-result",
                f"{text}; wrong for {shown}" if edge else text,
            ),
            self._origin(case),
        )

    def _add(self, finding: Finding, origin: Origin) -> None:
        key = finding.code, finding.line
        if key in self._known:
            return
        self._known.add(key)
        finding.sizes = dict(origin.case.sizes)
        self.origins[id(finding)] = origin
        self.findings.append(finding)

    def _origin(
        self, case: Case, layout: Layout = EXACT, seed: int | None = None, task: Task | None = None
    ) -> Origin:
        return Origin(task or self.task, self.names[case.types], case, layout, seed)

    def _skip(self, reason: str) -> None:
        self.skipped[reason[:200]] = self.skipped.get(reason[:200], 0) + 1

    def _chosen(self, count: int) -> list[Case]:
        """Cases that were right: the largest, and some between."""
        known = sorted(self._right, key=lambda one: sum(a.size for a in one.arrays.values()))
        if len(known) <= count:
            return known
        return [known[-1 - place * (len(known) - 1) // count] for place in range(count)]


def _same(found: Any, pattern: Any) -> Any:
    """Where elements have the bytes of a pattern."""
    size = found.dtype.itemsize
    rows = np.ascontiguousarray(found).reshape(-1).view(np.uint8).reshape(-1, size)
    return (rows == np.frombuffer(pattern.tobytes(), np.uint8)).all(axis=1)
