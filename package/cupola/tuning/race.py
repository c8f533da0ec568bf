# cupola/tuning/race.py - measures variants of one case in rounds, and finds the best.
"""Rounds of launches, interleaved over the variants of a case."""

from __future__ import annotations

import contextlib
import math
import operator
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from cupola.declare.family import Variant
from cupola.tuning.outcomes import BudgetEndedError, Failure, Footprint, Outcome, Timing, timing

_WARM_SECONDS = 0.1  # of launches before the first timed one: clocks rise
_QUICK = 3  # rounds of each variant
_HOPELESS = 3  # times the best: a variant beyond it gets one round
_CLOSE = 1.25  # times the best: variants within it run further rounds
_LEAST, _MOST = 10, 100  # rounds of these
_PRECISE = 0.005  # of the median: the uncertainty that ends the rounds


class Runner(Protocol):
    """Measures single variants: `CaseRunner`, or a worker process that has one.

    For variants besides the default each method may raise `BudgetEndedError`.
    """

    def compile(self, variants: Sequence[Variant]) -> list[Failure | Footprint]:
        """Compile variants."""

    def check(self, variant: Variant) -> Failure | None:
        """Compare a variant's results with the reference."""

    def sample(self, variant: Variant) -> float | Failure:
        """Seconds of one launch."""


class Race:
    """The measurements of one case.

    Parameters
    ----------
    runner : Runner
    default : tuple
        The declared default, which is measured first.
    deadline : float
        When to stop, by `now`.
    known : iterable of Outcome
        Measurements of an earlier process.
    report : callable
        It gets each `Outcome`.
    now : callable
        A clock in seconds.
    """

    def __init__(
        self,
        runner: Runner,
        default: Variant,
        deadline: float,
        known: Iterable[Outcome] = (),
        report: Callable[[Outcome], object] = lambda outcome: None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.default = default
        self.outcomes: dict[Variant, Outcome] = {one.variant: one for one in known}
        self._runner, self._report = runner, report
        self._deadline, self._now = deadline, now
        self._samples: dict[Variant, list[float]] = {}
        self._checked: set[Variant] = set()  # by this process

    @property
    def is_over(self) -> bool:
        """Whether the budget has ended."""
        return self._now() >= self._deadline

    def start(self) -> Failure | None:
        """Check the default, and let the clocks rise; its failure where it fails."""
        failure = self._admit([self.default])
        if failure is not None:
            return failure
        end = self._now() + _WARM_SECONDS
        for _ in range(2):
            self._warm(self.default)
        while self._now() < end and not self.is_over and self._runs(self.default):
            self._warm(self.default)
        self._quick([self.default])
        if self.outcomes[self.default].timing is not None:
            self._report(self.outcomes[self.default])
        return self.outcomes[self.default].failure

    def measure(self, variants: Sequence[Variant]) -> None:
        """Check variants, and time those that are right. Variants with an outcome are left out."""
        new = [one for one in variants if one not in self.outcomes]
        if not new or self.is_over:
            return
        with contextlib.suppress(BudgetEndedError):
            self._admit(new)
            self._quick([one for one in new if self._runs(one)])
        for variant in new:
            outcome = self.outcomes.get(variant)
            if outcome is not None and outcome.failure is None:
                if outcome.timing is None:
                    del self.outcomes[variant]  # the budget ended before its first round
                else:
                    self._report(outcome)

    def seconds(self, variant: Variant) -> float | None:
        """The median of a variant; infinity where it failed, None where it was not measured."""
        outcome = self.outcomes.get(variant)
        if outcome is None:
            return None
        return outcome.timing.seconds if outcome.timing else float("inf")

    def finish(self) -> None:
        """Time the variants near the best until their order is known, or the budget ends."""
        with contextlib.suppress(BudgetEndedError):
            self._race()

    def _race(self) -> None:
        if self.is_over:
            return
        racing = [one for one in self._near_best() if self._is_checked(one)]
        if self.default not in racing:
            racing.append(self.default)
        for count in range(1, _MOST + 1):
            if self.is_over or not racing:
                return
            self._round(racing)
            if count < _LEAST:
                continue
            racing = self._still_racing(racing)
            if all(self._is_precise(one) for one in racing):
                return

    def best(self) -> Variant:
        """The fastest variant; of those that tie with it, the one of the smallest footprint, and
        of these the one that is nearest to the default. If the default ties, too, no variant with a
        larger median takes its place.
        """
        measured = [one for one in self.outcomes.values() if one.timing and one.footprint]
        first = min(measured, key=lambda one: one.timing.seconds)  # type: ignore[union-attr]
        assert first.timing is not None
        tied = [one for one in measured if one.timing and one.timing.ties(first.timing)]
        limit = next((self._timing(one.variant).seconds for one in tied
                      if one.variant == self.default), math.inf)  # fmt: skip
        tied = [one for one in tied if self._timing(one.variant).seconds <= limit]

        def order(one: Outcome) -> tuple[int, int, float]:
            assert one.timing is not None and one.footprint is not None
            changed = sum(map(operator.ne, one.variant, self.default))
            return one.footprint.bytes, changed, one.timing.seconds

        return min(tied, key=order).variant

    def _admit(self, variants: Sequence[Variant]) -> Failure | None:
        """Compile and check variants. The result is the last failure."""
        last = None
        for variant, compiled in zip(variants, self._runner.compile(variants), strict=True):
            if self._checked and self.is_over:
                break
            failure, footprint = None, None
            if isinstance(compiled, Failure):
                failure = compiled
            else:
                footprint, failure = compiled, self._runner.check(variant)
            if failure is not None:
                self._fail(variant, failure)
                last = failure
                continue
            self._checked.add(variant)
            self._samples[variant] = []
            known = self.outcomes.get(variant)
            self.outcomes[variant] = Outcome(
                variant, None, footprint, known.timing if known else None
            )
        return last

    def _is_checked(self, variant: Variant) -> bool:
        """Whether this process has checked a variant; a known one is checked again."""
        return variant in self._checked or (self._admit([variant]) is None and self._runs(variant))

    def _runs(self, variant: Variant) -> bool:
        outcome = self.outcomes.get(variant)
        return outcome is not None and outcome.failure is None and variant in self._checked

    def _warm(self, variant: Variant) -> float | None:
        """Seconds of a launch that is not counted; None where it fails."""
        answer = self._runner.sample(variant)
        if isinstance(answer, Failure):
            self._fail(variant, answer)
            return None
        return answer

    def _quick(self, variants: Sequence[Variant]) -> None:
        """A few rounds after one that is not counted, except for variants without a chance."""
        limit = _HOPELESS * min(
            (one.timing.seconds for one in self.outcomes.values() if one.timing),
            default=float("inf"),
        )
        racing = []
        for variant in variants:
            seconds = self._warm(variant)
            if seconds is not None and seconds > limit:
                seconds = self._warm(variant)  # the first launch may have been disturbed
            if seconds is not None and seconds <= limit:
                racing.append(variant)
            elif seconds is not None:
                self._count(variant, seconds)
        for _ in range(_QUICK):
            self._round([one for one in racing if self._runs(one)])
            if self.is_over:
                break

    def _round(self, variants: Sequence[Variant]) -> None:
        for variant in variants:
            answer = self._runner.sample(variant)
            if isinstance(answer, Failure):
                self._fail(variant, answer)
            else:
                self._count(variant, answer)

    def _count(self, variant: Variant, seconds: float) -> None:
        samples = self._samples[variant]
        samples.append(seconds)
        self.outcomes[variant] = self.outcomes[variant]._replace(timing=timing(samples))

    def _fail(self, variant: Variant, failure: Failure) -> None:
        self._checked.discard(variant)
        outcome = self.outcomes[variant] = Outcome(variant, failure, None, None)
        self._report(outcome)

    def _timing(self, variant: Variant) -> Timing:
        found = self.outcomes[variant].timing
        assert found is not None
        return found

    def _near_best(self) -> list[Variant]:
        timed = [one.variant for one in self.outcomes.values() if one.timing]
        limit = _CLOSE * min((self._timing(one).seconds for one in timed), default=0.0)
        near = [one for one in timed if self._timing(one).seconds <= limit]
        return sorted(near, key=lambda one: self._timing(one).seconds)

    def _still_racing(self, racing: Sequence[Variant]) -> list[Variant]:
        """The variants that may be the best."""
        racing = [one for one in racing if self._runs(one)]
        if not racing:
            return []
        best = min((self._timing(one) for one in racing), key=lambda one: one.seconds)
        return [one for one in racing if self._timing(one).ties(best)]

    def _is_precise(self, variant: Variant) -> bool:
        found = self._timing(variant)
        return found.uncertainty <= _PRECISE * found.seconds
