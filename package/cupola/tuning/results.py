# cupola/tuning/results.py - what a tuning found: rows of a table, and their text.
"""`Tuning`, which `cupola.tune` returns."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cupola.declare.family import FamilyDeclaration, Value, Variant
from cupola.declare.tuning_table import DeviceRecord, Row
from cupola.tuning.heat_map import Cell, heat_map
from cupola.tuning.outcomes import Outcome, Timing
from cupola.tuning.text_table import aligned, duration

_HEAD = ("case", "variant", "time", "spread", "over default", "measured", "wrong", "failed")
_MOST_FAILURES = 10  # of a case, in the text


class TunedCase(NamedTuple):
    """The measurements of one case."""

    title: str
    row: Row
    outcomes: tuple[Outcome, ...]
    clocks: tuple[int, int] | None
    """The lowest and the highest clock of the multiprocessors that was read, in MHz."""
    is_complete: bool
    """Whether the search came to its end within the budget."""

    def count(self, *kinds: str) -> int:
        """How many variants failed in these ways."""
        return sum(1 for one in self.outcomes if one.failure and one.failure.kind in kinds)


class Tuning:
    """The result of `cupola.tune`; printed as a table.

    Attributes
    ----------
    family : str
        The family's name.
    digest : str
        It identifies the code of the kernels.
    device : DeviceRecord
        ``name``, ``capability``, ``memory`` in bytes, ``driver``, ``clock`` in kHz.
    cases : tuple of TunedCase
        The measurements of each case, in the order of the cases.
    unmeasured : bool
        Whether the budget ended before the last case.
    file : str or None
        The table that has the rows now; None where they are not stored.
    """

    def __init__(
        self,
        declaration: FamilyDeclaration,
        family: str,
        digest: str,
        device: DeviceRecord,
        cases: Sequence[TunedCase],
        unmeasured: bool,
    ) -> None:
        self._declaration = declaration
        self.family, self.digest, self.device = family, digest, device
        self.cases, self.unmeasured = tuple(cases), unmeasured
        self.file: str | None = None

    @property
    def rows(self) -> tuple[Row, ...]:
        """The best variant for each key, with its time."""
        return tuple(one.row for one in self.cases)

    def __str__(self) -> str:
        lines = [f"{self.family} on {self.device.name}"]
        lines += aligned([_HEAD, *(self._cells(one) for one in self.cases)])
        for one in self.cases:
            lines += [f"{one.title}: {text}" for text in self._failures(one)]
        lines += self._notes()
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<cupola.Tuning of {self.family}: {len(self.cases)} cases>"

    def picture(
        self, path: str | os.PathLike[str], x: str | None = None, y: str | None = None
    ) -> None:
        """Draw a heat map over two tunables, as SVG.

        A cell has the time over that of the best variant: the geometric mean over the cases, of
        the best variant with the cell's two values. Cells without a right variant say why.

        Parameters
        ----------
        path : path-like
            A file that ends in ``.svg``.
        x, y : str, optional
            The tunables of the columns and of the rows; by default the first two.

        Raises
        ------
        ArgumentValueError
            There is no such tunable, or the file's suffix is another one.
        """
        tunables = self._declaration.tunables
        names = [*tunables, ""]  # a single tunable has one row
        x = names[0] if x is None else x
        y = next(name for name in names if name != x) if y is None else y
        heat_map(
            path,
            f"{self.family} on {self.device.name}: time over the best",
            (x, tunables.get(x)),
            (y, tunables.get(y, ("",) if y == "" else None)),
            lambda values: self._cell(dict(zip((x, y), values, strict=True))),
        )

    def _cell(self, wanted: Mapping[str, Value]) -> Cell:
        """The mean ratio of the variants with these values, or why there is none."""
        wanted = {name: value for name, value in wanted.items() if name}
        ratios, texts = [], []
        for case in self.cases:
            here = [one for one in case.outcomes if self._has(one.variant, wanted)]
            times = [one.timing.seconds for one in here if one.timing]
            best = min(one.timing.seconds for one in case.outcomes if one.timing)
            if times:
                ratios.append(min(times) / best)
            texts += [one.failure.kind for one in here if one.failure]
        if len(ratios) == len(self.cases):
            mean = math.exp(math.fsum(map(math.log, ratios)) / len(ratios))
            return Cell(mean, f"{mean:.2f}")
        excluded = not any(self._has(one, wanted) for one in self._declaration.variants)
        return Cell(None, "excluded" if excluded else texts[0] if texts else "not measured")

    def _has(self, variant: Variant, wanted: Mapping[str, Value]) -> bool:
        return wanted.items() <= self._declaration.values(variant).items()

    def _cells(self, one: TunedCase) -> tuple[str, ...]:
        row = one.row
        variant = " ".join(f"{name}={value}" for name, value in row.variant.items())
        wrong = one.count("wrong")
        failed = sum(1 for each in one.outcomes if each.failure) - wrong
        return (
            one.title,
            variant,
            duration(row.seconds),
            f"{100 * row.spread:.1f} %",
            f"{row.seconds / (row.default_seconds or row.seconds):.3f}",
            str(row.variants),
            str(wrong),
            str(failed),
        )

    def _failures(self, one: TunedCase) -> list[str]:
        failed = [each for each in one.outcomes if each.failure]
        lines = [
            f"{self._declaration.text(each.variant)} {each.failure}"
            for each in failed[:_MOST_FAILURES]
        ]
        left = len(failed) - len(lines)
        return [*lines, f"{left} more in Tuning.cases"] if left else lines

    def _notes(self) -> list[str]:
        notes = []
        for one in self.cases:
            if one.clocks and one.clocks[0] < 0.95 * one.clocks[1]:
                notes.append(
                    f"{one.title}: the clock changed from {one.clocks[0]} to {one.clocks[1]} MHz"
                )
            if not one.is_complete:
                notes.append(f"{one.title}: the budget ended before the search")
        if self.unmeasured:
            notes.append("the budget ended before the last case: tune again with a larger budget=")
        return notes


def row_of(
    declaration: FamilyDeclaration,
    key: tuple[tuple[str, ...], tuple[int, ...]],
    best: Timing,
    variant: Variant,
    outcomes: Sequence[Outcome],
    date: str,
) -> Row:
    """The row of a case whose best variant is known."""
    times = {one.variant: one.timing for one in outcomes if one.timing}
    return Row(
        *key,
        variant=declaration.values(variant),
        seconds=best.seconds,
        spread=best.spread / best.seconds,
        default_seconds=times[declaration.default].seconds,
        variants=len(times),
        date=date,
    )
