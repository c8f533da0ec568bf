# cupola/judging/trials.py - the order of a candidate's launches.
"""The trials of a candidate: sizes, values, orders, launches, aliases."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from cupola.judging.candidate import EXACT, GUARDED, Run
from cupola.judging.diagnosis import diagnose
from cupola.judging.elements import is_float
from cupola.judging.inputs import KINDS, ORDINARY, Case
from cupola.judging.launches import Arrays, Launches, Stop
from cupola.judging.verdict import Finding

ORDERS = 20
_MOST_WRONG = 8
_LONG = 0.25  # seconds of a launch, after which sizes do not grow
_STILL = 2  # rounds without new lines and branches, after which no inputs are added


@dataclass
class Trials:
    """The trials of one candidate.

    Attributes
    ----------
    launches : Launches
    seconds : float
        After these, no inputs are added.
    """

    launches: Launches
    seconds: float
    _right: list[Case] = field(default_factory=list)
    _wrong: list[tuple[Case, str]] = field(default_factory=list)

    @property
    def largest(self) -> Case | None:
        """The largest case that was right."""
        return next(iter(self.chosen(1)), None)

    def run(self) -> None:
        """All trials, as far as faults and the time allow.

        Raises
        ------
        BrokenReference
        """
        self._end = time.monotonic() + self.seconds
        try:
            for place, types in enumerate(self.launches.names):
                self._sizes(types, place > 0)
            if not self._wrong and not self.launches.faults:
                for types in self.launches.names:
                    self._values(types)
                self._orders()
                self._launches()
                self._views()
                self._aliases()
                self._grow()
        except Stop:
            pass
        self._conclude()

    # -- the trials -------------------------------------------------------------------------------

    def _sizes(self, types: tuple[str, ...], few: bool) -> None:
        every = self.launches.cases.sizes()
        largest, slow = 0, False
        for place, sizes in enumerate(every[:: 6 if few else 1]):
            count = self.launches.cases.elements(sizes) or 0
            if (slow or time.monotonic() > self._end) and count > largest:
                self.launches.skip("later sizes would take too long")
                continue
            case = self.launches.case(sizes, ORDINARY, types)
            expected = self.launches.expected(case, twice=place < 3) if case else None
            if case is None or expected is None:
                continue
            start = time.monotonic()
            wrong = self.launches.compared(case, expected, EXACT)[1]
            slow = slow or time.monotonic() - start > _LONG
            largest = max(largest, count)
            if not wrong:
                wrong = self.launches.compared(case, expected, GUARDED)[1]
            self._note(case, wrong)
            if wrong and len(self._wrong) == 1:
                diagnose(self.launches, case, expected)
            if len(self._wrong) >= _MOST_WRONG and self._right:
                break

    def _note(self, case: Case, wrong: str) -> None:
        if wrong:
            self._wrong.append((case, wrong))
        elif case.sizes and all(case.sizes.values()):
            self._right.append(case)

    def _values(self, types: tuple[str, ...]) -> None:
        chosen = self.chosen(3)
        for kind in (*KINDS, ORDINARY):
            for basis in chosen:
                case = self.launches.case(basis.sizes, kind, types)
                expected = self.launches.expected(case) if case else None
                if case is None or expected is None:
                    continue
                run, found = self.launches.compared(case, expected, EXACT)
                if found:
                    code = self._special(kind, expected, run)
                    self.launches.add(
                        Finding(code, f"{kind} values: {found}"), self.launches.origin(case)
                    )
                    break

    def _special(self, kind: str, expected: Arrays, run: Run) -> str:
        if not self.launches.compares:
            return "not-deterministic"
        if kind == "nan":
            for name, one in expected.items():
                real = is_float(one.dtype) or one.dtype.kind == "c"
                if real and (np.isnan(one) & ~np.isnan(run.arrays[name])).any():
                    return "nan-swallowed"
        plain = kind in (ORDINARY, "zeros", "ones", "few", "negative")
        return "wrong-result" if plain else "special-values"

    def _orders(self) -> None:
        for case in self.chosen(2):
            expected = self.launches.expected(case)
            if expected is None:
                continue
            start = time.monotonic()
            for seed in range(ORDERS):
                _, found = self.launches.compared(case, expected, EXACT, seed)
                if found:
                    text = f"order of seed {seed}: {found}"
                    self.launches.add(
                        Finding("depends-on-order", text), self.launches.origin(case, seed=seed)
                    )
                    break
                if time.monotonic() - start > self.seconds:
                    self.launches.skip("later orders would take too long")
                    break

    def _launches(self) -> None:
        if {"block", "grid"} & set(self.launches.task.chosen):
            return
        for launch in self.launches.task.launches:
            task = self.launches.task.other(launch)
            for case in self.chosen(4):
                expected = self.launches.expected(case)
                if expected is None:
                    continue
                before = len(self.launches.findings)
                run, found = self.launches.compared(case, expected, EXACT, None, task)
                for one in self.launches.findings[before:]:
                    one.text = f"with {launch}: {one.text}"
                if run.failed or found:
                    self.launches.add(
                        Finding("block-size", f"with {launch}: {found or 'the launch fails'}"),
                        self.launches.origin(case, task=task),
                    )
                    break

    def _views(self) -> None:
        """Inputs may be views where the kernel takes their strides."""
        for case in self.chosen(3):
            expected = self.launches.expected(case)
            if expected is None:
                continue
            for text, view in self.launches.cases.views(case):
                _, found = self.launches.compared(view, expected, EXACT)
                if found:
                    names = ", ".join(view.strides)
                    self.launches.add(
                        Finding("view", f"{names}: {text}: {found}"),
                        self.launches.origin(view),
                    )

    def _aliases(self) -> None:
        """Inputs of one type and shape may be one array; outputs as far as the task says so."""
        for case in self.chosen(3):
            given = [one.name for one in self.launches.task.declaration.inputs if not one.mutated]
            for place, name in enumerate(given):
                array = case.arrays[name]
                for other in given[:place]:
                    before = case.arrays[other]
                    # Values of one input need not be valid for another input.
                    if self._alike(case, name, other) and (
                        (before.shape, before.dtype) == (array.shape, array.dtype)
                    ):
                        same = replace(case, arrays={**case.arrays, name: before})
                        self._aliased(same, {name: other})
            if self.launches.task.aliases:
                self._aliased(case, self.launches.task.aliases)

    def _alike(self, case: Case, *names: str) -> bool:
        """Whether the values of inputs are chosen by one rule."""
        ranges = self.launches.task.ranges
        rules = [[end.text for end in ranges.get(name, ())] for name in names]
        return rules[0] == rules[1] and not case.own.intersection(names)

    def _aliased(self, case: Case, aliases: Mapping[str, str]) -> None:
        expected = self.launches.expected(case)
        layout = replace(EXACT, aliases=aliases)
        if expected is None:
            return
        for seed in (None, 0, 1, 2):
            _, found = self.launches.compared(case, expected, layout, seed)
            if found:
                text = ", ".join(f"{name} is the memory of {aliases[name]}" for name in aliases)
                self.launches.add(
                    Finding("aliasing", f"{text}: {found}"),
                    self.launches.origin(case, layout, seed),
                )
                return

    def _grow(self) -> None:
        """Add inputs until two rounds reach no further line or side of a branch."""
        reached, still, turn = self._reached(), 0, 0
        while still < _STILL and time.monotonic() < self._end:
            for place, basis in enumerate(self.chosen(4)):
                kind = (ORDINARY, "few", "extreme", "large")[(turn + place) % 4]
                case = self.launches.case(basis.sizes, kind, basis.types)
                expected = self.launches.expected(case) if case else None
                if case is None or expected is None:
                    continue
                run, found = self.launches.compared(case, expected, EXACT)
                if found:
                    code = self._special(kind, expected, run)
                    self.launches.add(
                        Finding(code, f"{kind} values: {found}"), self.launches.origin(case)
                    )
            now = self._reached()
            still = 0 if now > reached else still + 1
            reached, turn = now, turn + 1

    def _reached(self) -> int:
        counts = self.launches.candidate.counts()
        return sum(bool(one[-1]) for key in ("lines", "sides") for one in counts[key])

    def _conclude(self) -> None:
        """Add the findings about wrong results at sizes."""
        if not self._wrong:
            return
        if not self.launches.compares:
            self._differing()
            return
        case, text = min(self._wrong, key=lambda one: sum(one[0].sizes.values()))
        edge = bool(self._right)
        shown = ", ".join(
            "(" + ", ".join(f"{name} = {size}" for name, size in one.sizes.items()) + ")"
            for one, _ in self._wrong[:4]
        )
        self.launches.add(
            Finding(
                "wrong-result-at-edge" if edge else "wrong-result",
                f"{text}; wrong for {shown}" if edge else text,
            ),
            self.launches.origin(case),
        )

    def _differing(self) -> None:
        """Add a finding about equal launches that differ, where the diagnosis found no reason."""
        if all(one.advice for one in self.launches.findings):
            case, text = min(self._wrong, key=lambda one: sum(one[0].sizes.values()))
            self.launches.add(
                Finding("not-deterministic", f"with arrays at other addresses: {text}"),
                self.launches.origin(case),
            )

    def chosen(
        self, count: int, most: float = math.inf, types: tuple[str, ...] | None = None
    ) -> list[Case]:
        """Cases that were right: the largest, and some between.

        Parameters
        ----------
        count : int
        most : float
            Elements of all inputs.
        types : tuple of str, optional
            By default of any types.
        """
        sized = [
            (sum(array.size for array in one.arrays.values()), place)
            for place, one in enumerate(self._right)
            if types is None or one.types == types
        ]
        known = [self._right[place] for size, place in sorted(sized) if size <= most]
        if len(known) <= count:
            return known
        return [known[-1 - place * (len(known) - 1) // count] for place in range(count)]
