# cupola/judging/gradients.py - compares an operation's gradients with finite differences.
"""Gradients of a backward operation, and central differences of its forward operation.

With random weights g of the outputs, L(x) is the sum of g times the outputs. The backward operation
gets g as the gradients of the outputs, so the gradient that it returns times a direction d is the
derivative of L along d. Central differences at three steps estimate the same number. Their error
is estimated from the differences between the steps, from second differences (where a function has a
kink these do not shrink with the step), and from the rounding of the outputs. A gradient is wrong
if it differs by more, for three inputs in a row.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cupola.declare.backward import match
from cupola.declare.declaration_error import DeclarationError
from cupola.exceptions import ArgumentValueError
from cupola.judging.candidate import EXACT
from cupola.judging.inputs import ORDINARY, Case
from cupola.judging.launches import Arrays, Launches, Origin
from cupola.judging.task import Task, TaskError, dtype_of
from cupola.judging.trials import Trials
from cupola.judging.verdict import Finding
from cupola.ops.sizes import Sizes

# By the type of an input: the largest step, and the relative tolerance.
STEPS = {"float32": (2e-3, 1e-2), "float64": (1e-5, 1e-5)}
_SHRINK = (1.0, 0.5, 0.25)  # of the step
_CONFIRMED = 3  # inputs for which a gradient has to be wrong
_CASES = 3
_MOST_ELEMENTS = 4096  # of all arrays of a case
_EVERY = 12  # elements of an input, up to which each element is a direction
_ROUNDING = 4.0  # units in the last place of an output
_UNSURE = 0.25  # of the derivative: a larger error of the differences decides nothing


@dataclass(frozen=True)
class Comparison:
    """A derivative by the backward operation, and by differences."""

    gradient: float
    difference: float
    error: float  # the most by which the two may differ
    scale: float

    @property
    def unsure(self) -> bool:
        """Whether the differences decide nothing."""
        if not all(map(math.isfinite, (self.difference, self.error, self.scale))):
            return True
        return self.error > _UNSURE * self.scale > 0

    @property
    def wrong(self) -> bool:
        """Whether the gradient is wrong."""
        return not self.unsure and not abs(self.gradient - self.difference) <= self.error


class Gradients:
    """The comparison of the gradients of one operation.

    Parameters
    ----------
    launches : Launches
        Of the forward operation, which is right otherwise.
    backward : Task
        The backward operation.
    seconds : float
        After these, no further case is compared.

    Raises
    ------
    TaskError
        The two operations do not fit each other.
    """

    def __init__(self, launches: Launches, backward: Task, seconds: float) -> None:
        self.launches, self.task, self._seconds = launches, backward, seconds
        try:
            self.matched = match(launches.task.declaration, backward.declaration)
        except DeclarationError as error:
            raise TaskError("package", f"{backward.declaration.name}: {error}") from None
        self._backward = Launches(
            backward, launches.cases, launches.reference, launches.candidate,
            backward.declaration.kernels,
        )  # fmt: skip
        self._wrong: set[str] = set()
        self._last: Origin | None = None
        # Directions by the input, and those of them whose differences decided nothing.
        self.counts = {name: {"directions": 0, "unsure": 0} for name in self.matched.results}

    def run(self, trials: Trials) -> list[str]:
        """Compare the gradients for some cases, and add the findings to the launches.

        Returns
        -------
        list of str
            Texts about gradients that were not compared.
        """
        left, count = [], _CASES
        try:
            for types in self.launches.names:
                why = self._unknown(types)
                if why:
                    left.append(f"gradients for {', '.join(types) or 'the kernel'}: {why}")
                    continue
                self._run(trials, types, count)
                count = 1  # for the kernels of other types
        finally:
            for one in self._backward.findings:
                one.text = f"the backward operation {self.task.declaration.name}: {one.text}"
            self.launches.findings += self._backward.findings
            self.launches.origins.update(self._backward.origins)
        for name, counts in self.counts.items():
            if counts["directions"] and counts["directions"] == counts["unsure"]:
                left.append(
                    f"the gradient of {name}: the differences are not finite, or too inexact"
                )
            elif not counts["directions"] and name not in self._wrong:
                left.append(f"the gradient of {name}: no case was right and small enough")
        return left

    def _run(self, trials: Trials, types: tuple[str, ...], count: int) -> None:
        end = time.monotonic() + self._seconds
        for place, case in enumerate(trials.chosen(count, _MOST_ELEMENTS, types)):
            if place and time.monotonic() > end:
                self.launches.skip("later gradients would take too long")
                return
            for name in self._inputs(case):
                if name not in self._wrong and self._judged(case, name):
                    self._wrong.add(name)

    def _unknown(self, types: tuple[str, ...]) -> str:
        """Why gradients can't be compared for the kernel of these types; "" where they can."""
        declaration = self.launches.task.declaration
        if self._types(types) not in self.task.declaration.kernels:
            return "the backward operation has no kernel for them"
        for one in declaration.outputs:
            name = dtype_of(declaration, one, types).name
            if one.name in self.matched.gradients.values() and name not in STEPS:
                return f"the differences of {one.name}, of {name}, are too inexact"
        return ""

    def _inputs(self, case: Case) -> list[str]:
        """The inputs that have a gradient, and whose differences are exact enough."""
        return [
            name for name in self.matched.results
            if case.arrays[name].dtype.name in STEPS and case.arrays[name].size
        ]  # fmt: skip

    def _judged(self, basis: Case, name: str) -> bool:
        """Whether the gradient of an input is wrong for the sizes of a case; it is found then."""
        seen: list[tuple[str, Comparison]] = []
        for turn in range(_CONFIRMED):
            case = self.launches.case(basis.sizes, ORDINARY, basis.types)
            found = None if case is None else self._first_wrong(case, name, turn)
            if case is None or found is None:
                return False
            if isinstance(found, str):
                self._add(found)
                return True
            seen.append(found)
        where, one = seen[-1]
        self._add(
            f"{self.matched.results[name]}, {where}: the derivative is {one.gradient:.6g}, "
            f"and finite differences give {one.difference:.6g} (within {one.error:.2g})",
        )  # fmt: skip
        return True

    def _add(self, text: str) -> None:
        """Add a finding about the last launch of the backward operation."""
        assert self._last is not None
        self.launches.add(Finding("wrong-gradient", text), self._last)

    def _first_wrong(self, case: Case, name: str, turn: int) -> tuple[str, Comparison] | str | None:
        """The first direction along which the gradient is wrong, with the comparison.

        A text where the backward operation can't be launched, or returns another shape.
        """
        base = self._outputs(case)
        if base is None:
            return None
        rng = np.random.default_rng([case.seed, turn])
        weights = {}
        for output in self.matched.gradients.values():
            like = base[output]
            random = rng.uniform(0.5, 1.5, like.shape) * rng.choice([-1, 1], like.shape)
            weights[output] = random.astype(like.dtype)
        try:
            gradient = self._gradient(case, name, base, weights)
        except ArgumentValueError as error:
            self.launches.skip(f"the backward operation refuses what the operation takes: {error}")
            return None
        if gradient is None:
            return None
        if gradient.shape != case.arrays[name].shape:
            return (
                f"{self.matched.results[name]} has shape {gradient.shape}, and {name} has "
                f"{case.arrays[name].shape}"
            )
        for where, direction in _directions(case.arrays[name].shape, rng):
            found = self._along(case, name, direction, gradient, base, weights)
            if found is None:
                return None
            self.counts[name]["directions"] += 1
            self.counts[name]["unsure"] += found.unsure
            if found.wrong:
                return where, found
        return None

    def _outputs(self, case: Case) -> Arrays | None:
        run, _ = self.launches.compared(case, {}, EXACT)
        return None if run.failed else run.arrays

    def _gradient(
        self, case: Case, name: str, base: Arrays, weights: Arrays
    ) -> np.ndarray[Any, Any] | None:
        """The gradient of an input by the backward operation.

        Raises
        ------
        ArgumentValueError
            The backward operation refuses the sizes, or has no kernel for the types.
        """
        declaration = self.task.declaration
        known = {**base, **case.arrays}
        arrays = {
            one.name: weights[self.matched.gradients[one.name]]
            if one.name in self.matched.gradients else known[one.name]
            for one in declaration.inputs
        }  # fmt: skip
        types = self._types(case.types)
        scalars = {one.name: case.scalars[one.name] for one in declaration.scalars}
        shapes = {key: one.shape for key, one in arrays.items()}
        values = Sizes(declaration, shapes, scalars, types)
        given = Case(
            case.sizes, case.kind, types, arrays, scalars, values, case.seed, case.own
        )  # fmt: skip
        self._last = self._backward.origin(given)
        run, _ = self._backward.compared(given, {}, EXACT)
        return None if run.failed else run.arrays[self.matched.results[name]]

    def _types(self, types: tuple[str, ...]) -> tuple[str, ...]:
        """The types of the backward operation's type variables, by those of the operation's."""
        forward, declaration = self.launches.task.declaration, self.task.declaration
        found: dict[str, str] = {}
        for one in declaration.inputs:
            source = forward.tensor(self.matched.gradients.get(one.name, one.name))
            assert source is not None
            found.setdefault(one.type.variable, forward.element_of(source, types))
        return tuple(found[variable] for variable in declaration.variables)

    def _along(
        self, case: Case, name: str, direction: np.ndarray[Any, Any],
        gradient: np.ndarray[Any, Any], base: Arrays, weights: Arrays,
    ) -> Comparison | None:  # fmt: skip
        """The derivatives along a direction."""
        before = case.arrays[name]
        largest, rtol = STEPS[before.dtype.name]
        wide, errors, bends, scale = gradient.astype(np.float64), [], [], 0.0
        slope = change = noise = 0.0
        for shrink in _SHRINK:
            step = largest * shrink
            sides = [(before + sign * step * direction).astype(before.dtype) for sign in (1, -1)]
            moved = sides[0].astype(np.float64) - sides[1].astype(np.float64)
            results = []
            for side in sides:
                made = self._outputs(replace(case, arrays={**case.arrays, name: side}))
                if made is None:
                    return None
                results.append(made)
            with np.errstate(all="ignore"):
                slope = float((wide * moved).sum()) / (2 * step)
                change = _weighted(weights, results[0], results[1]) / (2 * step)
                bend = (
                    _weighted(weights, results[0], base) + _weighted(weights, results[1], base)
                ) / step
                noise = max(noise, _rounding(weights, *results) / (2 * step))
                whole = float(np.sqrt(((wide * moved) ** 2).sum())) / (2 * step)
                scale = max(whole if math.isfinite(whole) else 0.0, abs(change))
            errors.append(change - (slope if math.isfinite(slope) else 0.0))
            bends.append(bend)
        with np.errstate(all="ignore"):
            spread = max(errors) - min(errors)
            kinks = max(abs(bends[1] - bends[0] / 2), abs(bends[2] - bends[1] / 2))
            error = rtol * scale + 3 * spread + 2 * kinks + noise
        return Comparison(slope, change, error, scale)


def _weighted(weights: Arrays, after: Arrays, before: Arrays) -> float:
    """The change of the weighted sum of outputs."""
    return float(
        sum(
            (one.astype(np.float64) * (after[name].astype(np.float64) - before[name])).sum()
            for name, one in weights.items()
        )
    )


def _rounding(weights: Arrays, one: Arrays, other: Arrays) -> float:
    """The error of the weighted sum by the rounding of the outputs that differ."""
    found = 0.0
    for name, weight in weights.items():
        unit = float(np.finfo(one[name].dtype).eps) * _ROUNDING
        moved = one[name] != other[name]
        found += float(np.abs(unit * weight.astype(np.float64) * one[name])[moved].sum())
    return found


def _directions(
    shape: tuple[int, ...], rng: np.random.Generator
) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Directions: single elements, those at the ends among them, and a random one."""
    count = int(np.prod(shape))
    places: Mapping[int, None]
    if count <= _EVERY:
        places = dict.fromkeys(range(count))
    else:
        places = dict.fromkeys([0, count - 1, *rng.integers(0, count, 4).tolist()])
    for place in places:
        one = np.zeros(count)
        one[place] = 1.0
        index = (
            ", ".join(str(int(each)) for each in np.unravel_index(place, shape)) if shape else ""
        )
        yield f"element [{index}]", one.reshape(shape)
    yield "a random direction", rng.normal(size=shape)
