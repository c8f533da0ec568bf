# cupola/tuning/session.py - measures the cases of a family, on one device or several at once.
"""A tuning while it runs: its cases, its budget, its worker processes."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from cupola.exceptions import ArgumentValueError, Error
from cupola.tuning.cases import Case, CaseIterator
from cupola.tuning.family import Family
from cupola.tuning.journal import Journal, Key
from cupola.tuning.measure import Clock
from cupola.tuning.outcomes import Outcome
from cupola.tuning.progress import Report
from cupola.tuning.race import Race
from cupola.tuning.results import TunedCase, row_of
from cupola.tuning.search import SEARCHES
from cupola.tuning.tables import now
from cupola.tuning.worker import Stopped, Worker

_PART = 8  # of the time that is left: the share of a case where the number of cases is not known
# After the share of a case, until a variant that has not answered is given up: a launch that is
# only slow need not end the process.
_LATE_SECONDS = 2.0
_POLL_SECONDS = 0.1  # between looks for Ctrl-C


@dataclass(frozen=True)
class Settings:
    """How variants are measured."""

    clock: Clock
    budget: float = 60.0  # seconds
    search: str = "all"
    seed: int = 0
    timeout: float = 10.0  # seconds of a launch


class Session:
    """The measurement of a family's cases.

    Parameters
    ----------
    family : Family
    cases : Case, iterable of Case, or callable
    settings : Settings
    """

    def __init__(self, family: Family, cases: Any, settings: Settings) -> None:
        self._family, self._settings = family, settings
        self._cases = CaseIterator(family.name, cases)
        self._count = self._cases.count
        self._deadline = time.monotonic() + settings.budget
        self._lock = threading.Lock()
        self._started = 0  # cases
        self._done = 0  # variants
        self._seen: dict[Key, str] = {}
        self._found: dict[int, TunedCase] = {}  # by the case's number
        self._is_over = False  # after an error or Ctrl-C
        self.unmeasured = False

    @property
    def cases(self) -> list[TunedCase]:
        """The cases that were measured, in their order."""
        return [self._found[number] for number in sorted(self._found)]

    def run(self, workers: Sequence[Worker], journal: Journal, report: Report) -> None:
        """Measure, with a thread for each worker.

        Raises
        ------
        Error
            A case does not fit the family, or the default misses its reference.
        KeyboardInterrupt
            `cases` has what was measured before.
        """
        with ThreadPoolExecutor(len(workers)) as pool:
            running = [
                pool.submit(self._work, worker, len(workers), journal, report) for worker in workers
            ]
            try:
                self._await(running)
            finally:
                self._is_over = True
                for worker in workers:
                    worker.stop()
        for one in running:
            one.result()
        if not self._started:
            raise ArgumentValueError(
                f"{self._family.name}: there are no cases: expected at least one "
                "cupola.Case(arguments, expected)"
            )

    @staticmethod
    def _await(running: Sequence[Future[None]]) -> None:
        """Wait until all have ended, or one has failed."""
        left = set(running)
        while left:
            ended, left = wait(left, _POLL_SECONDS)
            if any(one.exception() for one in ended):
                return

    def _work(self, worker: Worker, workers: int, journal: Journal, report: Report) -> None:
        with worker, contextlib.suppress(Stopped):
            while (taken := self._take()) is not None:
                self._measure(worker, *taken, workers, journal, report)

    def _take(self) -> tuple[int, Case] | None:
        """The next case and its number; None where there is none, or no time for it."""
        with self._lock:
            if self._is_over:
                return None
            case = self._cases.take()
            if case is None:
                return None
            if self._started and time.monotonic() >= self._deadline:
                self.unmeasured = True
                return None
            self._started += 1
            return self._started, case

    def _share(self, number: int, workers: int) -> float:
        """When the measurement of a case ends, if its search does not end before."""
        now = time.monotonic()
        left = max(0.0, self._deadline - now)
        if self._count is None:
            return now + left / _PART
        return now + min(left, left * workers / (self._count - number + 1))

    def _measure(
        self,
        worker: Worker,
        number: int,
        case: Case,
        workers: int,
        journal: Journal,
        report: Report,
    ) -> None:
        family, declaration = self._family, self._family.declaration
        with self._cases.naming(number, case):
            opened = worker.open(case)
        key = opened.types, opened.key
        title = case.name or key_text(family, key)
        self._claim(key, title)
        entry = *key, case.digest

        def measured(outcome: Outcome) -> None:
            journal.append(entry, outcome)
            with self._lock:
                self._done += 1
                report(self._done, len(declaration.variants) * (self._count or 0))

        share = self._share(number, workers)
        worker.until(min(self._deadline, share + _LATE_SECONDS))
        race = Race(
            worker,
            declaration.default,
            share,
            journal.known(entry),
            measured,
        )
        clocks = None
        is_complete = journal.is_complete(entry)
        if not is_complete:
            is_complete, clocks = self._search(race, worker, title)
            for outcome in race.outcomes.values():
                journal.append(entry, outcome)
            if is_complete:
                journal.complete(entry)
        self._found[number] = tuned(family, key, title, race, clocks, is_complete)

    def _search(
        self, race: Race, worker: Worker, title: str
    ) -> tuple[bool, tuple[int, int] | None]:
        """Run a case's search; whether it came to its end, and the clocks that were read."""
        family, declaration = self._family, self._family.declaration
        failure = race.start()
        if failure is not None:
            raise ArgumentValueError(
                f"{family.name}, {title}: the declared default "
                f"({declaration.text(declaration.default)}) {failure}; nothing was stored: correct "
                "the case's reference or its tolerances, or the default"
            )
        clocks = [worker.sm_clock()]
        search(family, race, self._settings)
        is_complete = not race.is_over
        race.finish()
        clocks.append(worker.sm_clock())
        if race.outcomes[declaration.default].timing is None:
            raise Error(
                f"{family.name}, {title}: the declared default "
                f"{race.outcomes[declaration.default].failure}, after it was right before: its "
                "results are not the same at each launch"
            )
        read = [one for one in clocks if one is not None]
        return is_complete, (min(read), max(read)) if read else None

    def _claim(self, key: Key, title: str) -> None:
        with self._lock:
            if key in self._seen:
                raise ArgumentValueError(
                    f"{self._family.name}: two cases have the key {key_text(self._family, key)}: "
                    f"{self._seen[key]} and {title}; a table has one variant for a key"
                )
            self._seen[key] = title


def search(family: Family, race: Race, settings: Settings) -> None:
    """Measure the variants that a search proposes, until it ends or the budget does."""
    order = random.Random(settings.seed)
    for batch in SEARCHES[settings.search](family.declaration, race.seconds, order):
        race.measure(batch)
        if race.is_over:
            return


def tuned(
    family: Family,
    key: Key,
    title: str,
    race: Race,
    clocks: tuple[int, int] | None,
    is_complete: bool,
) -> TunedCase:
    """The result of a case."""
    best = race.best()
    outcomes = tuple(race.outcomes.values())
    found = race.outcomes[best].timing
    assert found is not None
    row = row_of(family.declaration, key, found, best, outcomes, now())
    return TunedCase(title, row, outcomes, clocks, is_complete)


def key_text(family: Family, key: Key) -> str:
    """A key for people: ``float32 rows=64 columns=128``."""
    types, sizes = key
    named = zip(family.declaration.key, sizes, strict=True)
    return " ".join([*types, *(f"{name}={size}" for name, size in named)]) or "all calls"
