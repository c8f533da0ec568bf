# cupola/tuning/outcomes.py - what the measurement of a variant gave.
"""Named tuples of measurements, which processes exchange and journals have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median, quantiles
from typing import NamedTuple

from cupola.declare.family import Variant

# The kinds of a failure, with what each says in tables.
FAILURES = {
    "compile": "does not compile",
    "wrong": "is wrong",
    "launch": "can't be launched",
    "fault": "faults",
    "hang": "hangs",
    "died": "ends its process",
}
_REGISTER = 4  # bytes


class BudgetEndedError(Exception):
    """The budget ended before a variant's answer: nothing is known of that variant."""


class Failure(NamedTuple):
    """Why a variant was not measured."""

    kind: str  # one of FAILURES
    reason: str

    def __str__(self) -> str:
        return f"{FAILURES[self.kind]}: {self.reason}"


class Footprint(NamedTuple):
    """The resources of a block."""

    registers: int  # of a thread
    threads: int
    shared: int  # bytes, static and dynamic

    @property
    def bytes(self) -> int:
        """Bytes of registers and of shared memory."""
        return _REGISTER * self.registers * self.threads + self.shared


class Timing(NamedTuple):
    """The times of a variant, in seconds."""

    seconds: float  # the median
    low: float  # the quartiles
    high: float
    rounds: int

    @property
    def spread(self) -> float:
        """The distance of the quartiles."""
        return self.high - self.low

    @property
    def uncertainty(self) -> float:
        """How far the median may be off: the spread over the square root of the rounds."""
        return self.spread / math.sqrt(self.rounds)

    def ties(self, other: Timing) -> bool:
        """Whether the medians differ by no more than their uncertainties together."""
        return abs(self.seconds - other.seconds) <= self.uncertainty + other.uncertainty


def timing(samples: Sequence[float]) -> Timing:
    """The median and the quartiles of at least one sample."""
    if len(samples) == 1:
        return Timing(samples[0], samples[0], samples[0], 1)
    low, _, high = quantiles(samples, n=4, method="inclusive")
    return Timing(median(samples), low, high, len(samples))


class Outcome(NamedTuple):
    """A variant that was measured, or that failed."""

    variant: Variant
    failure: Failure | None
    footprint: Footprint | None
    timing: Timing | None
