# cupola/judging/gradients.py - compares an operation's gradients with finite differences.
"""Gradients of a backward operation, and central differences of its forward operation.

With random weights g of the outputs, L(x) is the sum of g times the outputs. The backward operation
gets g as the gradients of the outputs, so the gradient that it returns times a direction d is the
derivative of L along d. `cupola.judging.differences` estimates the same number by differences of
the kernel for the widest types that the operation takes, for the same inputs.

The elements move by a part of their size, so that none reaches a pole or a kink at 0. Along the
signs of the gradient, all elements add up, and the rounding of many outputs averages. A gradient is
wrong if it differs by more than the error of the differences and its own rounding, for three inputs
in a row.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cupola.declare.backward import match
from cupola.declare.declaration_error import DeclarationError
from cupola.declare.element_types import itemsize
from cupola.exceptions import ArgumentValueError
from cupola.judging.candidate import EXACT
from cupola.judging.differences import Differences, extrapolated
from cupola.judging.directions import WHOLE, directions, perturbed
from cupola.judging.elements import limits
from cupola.judging.inputs import ORDINARY, Case
from cupola.judging.launches import Arrays, Launches, Origin
from cupola.judging.task import Task, TaskError, dtype_of
from cupola.judging.trials import Trials
from cupola.judging.verdict import Finding
from cupola.ops.sizes import Sizes

# By the type of the kernel whose differences are taken: the largest step, as a part of an element,
# and the number of steps.
STEPS = {
    "bfloat16": (2.0**-1, 4), "float16": (2.0**-2, 5), "float32": (2.0**-4, 7),
    "float64": (2.0**-5, 6),
}  # fmt: skip
# By the type of a gradient: what rounding in the backward operation may add, as a part of the
# derivative.
RTOL = {"bfloat16": 6e-2, "float16": 8e-3, "float32": 1e-4, "float64": 1e-8}
_CONFIRMED = 3  # inputs for which a gradient has to be wrong
CASES = 3  # sizes for the kernel of the first types
_MOST_ELEMENTS = 4096  # of all arrays of a case
_ROUNDING = 3.0  # units in the last place of an output
_PERTURBED = 2  # launches of the backward operation with inputs that differ by their rounding
_AMPLIFIED = 4.0  # the error of a gradient, as a multiple of what these launches show
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
    variant : str
        The variant of the backward operation's family; "" without a family.

    Raises
    ------
    TaskError
        The two operations do not fit each other.
    """

    def __init__(
        self, launches: Launches, backward: Task, seconds: float, variant: str = ""
    ) -> None:
        self.launches, self.task, self._seconds = launches, backward, seconds
        self._with = f"with {variant}: " if variant else ""
        try:
            self.matched = match(launches.task.declaration, backward.declaration)
        except DeclarationError as error:
            raise TaskError("package", f"{backward.declaration.name}: {error}") from None
        self._backward = Launches(
            backward, launches.cases, launches.reference, launches.candidate,
            backward.declaration.kernels,
        )  # fmt: skip
        self.wrong: set[str] = set()  # inputs whose gradient is wrong
        self._last: Origin | None = None
        # Directions by the input, those of them whose differences decided nothing, and by the type
        # the least mistake of a whole gradient that is found, as a part of the gradient.
        self.counts: dict[str, dict[str, Any]] = {
            name: {"directions": 0, "unsure": 0, "resolution": {}} for name in self.matched.results
        }

    def run(self, trials: Trials, cases: int = CASES) -> list[str]:
        """Compare the gradients for some cases, and add the findings to the launches.

        Parameters
        ----------
        trials : Trials
        cases : int
            For the kernel of the first types.

        Returns
        -------
        list of str
            Texts about gradients that were not compared.
        """
        left, count = [], cases
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
                one.text = (
                    f"the backward operation {self.task.declaration.name}: {self._with}{one.text}"
                )
            self.launches.findings += self._backward.findings
            self.launches.origins.update(self._backward.origins)
        for name, counts in self.counts.items():
            if counts["directions"] and counts["directions"] == counts["unsure"]:
                left.append(
                    f"the gradient of {name}: the differences are not finite, or too inexact"
                )
            elif not counts["directions"] and name not in self.wrong:
                left.append(f"the gradient of {name}: no case was right and small enough")
        return left

    def _run(self, trials: Trials, types: tuple[str, ...], count: int) -> None:
        end = time.monotonic() + self._seconds
        for place, case in enumerate(trials.chosen(count, _MOST_ELEMENTS, types)):
            if place and time.monotonic() > end:
                self.launches.skip("later gradients would take too long")
                return
            for name in self._inputs(case):
                if name not in self.wrong and self._judged(case, name):
                    self.wrong.add(name)

    def _unknown(self, types: tuple[str, ...]) -> str:
        """Why gradients can't be compared for the kernel of these types; "" where they can."""
        declaration = self.launches.task.declaration
        if self._types(types) not in self.task.declaration.kernels:
            return "the backward operation has no kernel for them"
        for one in declaration.outputs:
            name = dtype_of(declaration, one, types).name
            if one.name in self.matched.gradients.values() and name not in STEPS:
                return f"{one.name} has elements of {name}"
        return ""

    def _inputs(self, case: Case) -> list[str]:
        """The inputs that have a gradient of a known type."""
        return [
            name for name in self.matched.results
            if case.arrays[name].dtype.name in STEPS and case.arrays[name].size
        ]  # fmt: skip

    def _widest(self, case: Case) -> Case:
        """The same inputs for the kernel of the widest types."""
        declaration = self.launches.task.declaration

        def bits(types: tuple[str, ...]) -> int:
            """The bits of the types, or 0 where another type than a wider one takes a place."""
            fits = all(
                one == own or (itemsize(one) > itemsize(own) and {one, own} <= set(STEPS))
                for one, own in zip(types, case.types, strict=True)
            )  # fmt: skip
            return sum(map(itemsize, types)) if fits else 0

        types = max(self.launches.names, key=bits)
        if types == case.types or not bits(types):
            return case
        arrays = {
            one.name: case.arrays[one.name].astype(dtype_of(declaration, one, types))
            for one in declaration.inputs if one.name in case.arrays
        }  # fmt: skip
        try:
            values = Sizes(declaration, case.values.shapes, case.scalars, types)
        except ArgumentValueError:  # its kernel takes other sizes
            return case
        return replace(case, types=types, arrays=arrays, values=values)

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
        self.launches.add(Finding("wrong-gradient", self._with + text), self._last)

    def _first_wrong(self, case: Case, name: str, turn: int) -> tuple[str, Comparison] | str | None:
        """The first direction along which the gradient is wrong, with the comparison.

        A text where the backward operation can't be launched, or returns another shape.
        """
        base, wide = self._outputs(case), self._widest(case)
        wide_base = base if wide is case else self._outputs(wide)
        if base is None or wide_base is None:
            return None
        rng = np.random.default_rng([case.seed, turn])
        weights = {}
        for output in self.matched.gradients.values():
            like = base[output]
            random = rng.uniform(0.5, 1.5, like.shape) * rng.choice([-1, 1], like.shape)
            weights[output] = random.astype(like.dtype)
        try:
            gradients = [
                self._gradient(case, name, base, weights, rng if place else None)
                for place in range(1 + _PERTURBED)
            ]
        except ArgumentValueError as error:
            self.launches.skip(f"the backward operation refuses what the operation takes: {error}")
            return None
        if any(one is None for one in gradients):
            return None
        found = [one for one in gradients if one is not None]
        if found[0].shape != case.arrays[name].shape:
            return (
                f"{self.matched.results[name]} has shape {found[0].shape}, and {name} has "
                f"{case.arrays[name].shape}"
            )
        for where, direction, first in directions(case.arrays[name], found[0], rng):
            one = self._along(wide, name, direction, first, found, wide_base, weights)
            if one is None:
                return None
            self._count(name, one, where, found[0].dtype.name)
            if one.wrong:
                return where, one
        return None

    def _count(self, name: str, one: Comparison, where: str, dtype: str) -> None:
        counts = self.counts[name]
        counts["directions"] += 1
        counts["unsure"] += one.unsure
        if where == WHOLE and not one.unsure and one.difference:
            found = float(f"{one.error / abs(one.difference):.2g}")
            known = counts["resolution"]
            known[dtype] = min(known.get(dtype, found), found)

    def _outputs(self, case: Case) -> Arrays | None:
        run, _ = self.launches.compared(case, {}, EXACT)
        return None if run.failed else run.arrays

    def _gradient(
        self, case: Case, name: str, base: Arrays, weights: Arrays, rng: np.random.Generator | None
    ) -> np.ndarray[Any, Any] | None:
        """The gradient of an input by the backward operation.

        With `rng`, each element of an input moves to a neighbour or stays.

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
        if rng is not None:
            arrays = {key: perturbed(one, rng) for key, one in arrays.items()}
        types = self._types(case.types)
        scalars = {one.name: case.scalars[one.name] for one in declaration.scalars}
        shapes = {key: one.shape for key, one in arrays.items()}
        values = Sizes(declaration, shapes, scalars, types)
        given = Case(
            case.sizes, case.kind, types, arrays, scalars, values, case.seed, case.own
        )  # fmt: skip
        if rng is None:
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
        self, case: Case, name: str, direction: np.ndarray[Any, Any], first: int,
        gradients: list[np.ndarray[Any, Any]], base: Arrays, weights: Arrays,
    ) -> Comparison | None:  # fmt: skip
        """The derivatives along a direction, with steps from the step `first` on."""
        before, own = case.arrays[name], gradients[0].dtype
        start, about = _wide(before), limits(own)
        wide = [_wide(one) for one in gradients]
        largest, count = STEPS[before.dtype.name]
        steps, slope, change, scale, noise = [], 0.0, 0.0, 0.0, 0.0
        for step in (largest * 2.0**-place for place in range(first, count)):
            results, places = [], []
            for sign in (1, -1):
                side = (start + sign * step * direction).astype(before.dtype)
                made = self._outputs(replace(case, arrays={**case.arrays, name: side}))
                if made is None:
                    return None
                results.append(made)
                places.append(side.astype(np.float64))
            with np.errstate(all="ignore"):
                moved = (places[0] - places[1]) / (2 * step)
                slope, *others = (_derivative(one, moved) for one in wide)
                change = _weighted(weights, results[0], results[1]) / (2 * step)
                ahead, behind = (_weighted(weights, one, base) for one in results)
                whole = math.sqrt(_derivative(wide[0] ** 2, moved**2))
                error = change - (slope if math.isfinite(slope) else 0.0)
                steps.append(
                    Differences(step, error, (ahead + behind) / step,
                                _rounding(weights, *results) / (2 * step))
                )  # fmt: skip
            if math.isfinite(change):
                scale = max(whole if math.isfinite(whole) else 0.0, abs(change))
                noise = max(abs(other - slope) for other in others)
        error, inexact = extrapolated(steps)
        finite = slope if math.isfinite(slope) else 0.0
        smallest = float(about.smallest_subnormal) * float(np.abs(moved).sum())
        inexact += RTOL[own.name] * scale + smallest
        if math.isfinite(noise):
            inexact += _AMPLIFIED * noise
        overflow = float(about.max) / 2 * float(np.abs(moved).max())
        if math.isinf(slope) and abs(change) > overflow:
            inexact = math.inf  # the gradient is too large for its type
        return Comparison(slope, finite + error, inexact, scale)


def _derivative(gradient: np.ndarray[Any, Any], moved: np.ndarray[Any, Any]) -> float:
    """The sum of products where an element moves: a gradient elsewhere may be infinite."""
    return float((gradient * moved)[moved != 0].sum())


def _wide(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array.astype(np.float64)


def _weighted(weights: Arrays, after: Arrays, before: Arrays) -> float:
    """The change of the weighted sum of outputs."""
    return float(
        sum(
            (_wide(one) * (_wide(after[name]) - _wide(before[name]))).sum()
            for name, one in weights.items()
        )
    )


def _rounding(weights: Arrays, one: Arrays, other: Arrays) -> float:
    """The error of the weighted sum by the rounding of the outputs that differ."""
    found = 0.0
    for name, weight in weights.items():
        unit = float(limits(one[name].dtype).eps) * _ROUNDING
        moved = one[name] != other[name]
        found += float(((unit * _wide(weight) * _wide(one[name]))[moved] ** 2).sum())
    return math.sqrt(found)
