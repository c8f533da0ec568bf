# cupola/judging/differences.py - a derivative by central differences, and the error of it.
"""Central differences at steps that halve, extrapolated to the step 0.

The error of central differences has even powers of the step. Richardson's extrapolation cancels
them one after another, and the differences between its columns estimate the rest. Second
differences shrink with the step where a function is smooth. The part that does not shrink shows a
kink at larger steps, and the rounding of the function at the smallest steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_SMALLEST = 3  # steps that measure the rounding
_FEWEST = 2


@dataclass(frozen=True)
class Differences:
    """The differences of a function at one step.

    Attributes
    ----------
    step : float
    slope : float
        The central difference.
    bend : float
        The second difference, divided by the step.
    rounding : float
        The error of the slope by the rounding of results, as far as their size tells.
    """

    step: float
    slope: float
    bend: float
    rounding: float


def extrapolated(steps: Sequence[Differences]) -> tuple[float, float]:
    """The slope at the step 0, and its error.

    Parameters
    ----------
    steps : sequence of Differences
        From the largest step to the smallest.

    Returns
    -------
    tuple of float
        The error is infinite where too few differences are finite.
    """
    finite = [one for one in steps if math.isfinite(one.slope) and math.isfinite(one.bend)]
    if len(finite) < _FEWEST:
        return math.nan, math.inf
    kinks = [0.0] + [
        abs(one.bend - before.bend * one.step / before.step) for before, one in pairwise(finite)
    ]
    last = list(zip(kinks, finite, strict=True))[-_SMALLEST:]
    measured = max(kink * one.step for kink, one in last)
    best, least = math.nan, math.inf
    row: list[float] = []
    for place, one in enumerate(finite):
        kink = max(kinks[max(place - 1, 0) : place + 2])
        noise = 2 * max(one.rounding, measured / one.step) + 3 * kink
        before, row = row, [one.slope]
        for column, above in enumerate(before):
            power = (finite[place - column - 1].step / one.step) ** 2
            row.append((power * row[column] - above) / (power - 1))
            error = 2 * max(abs(row[-1] - row[column]), abs(row[-1] - above)) + noise
            if error < least:
                best, least = row[-1], error
    slopes = [one.slope for _, one in last]
    # Slopes that differ between the smallest steps, as near a pole, say nothing about the limit.
    return best, max(least, _spread(slopes))


def _spread(slopes: Sequence[float]) -> float:
    """The error that the slopes at the smallest steps show: a quarter of their differences."""
    return (max(slopes) - min(slopes)) / 4
