# cupola/tuning/explanation.py - why a launch of a family takes its variant.
"""`Explanation`, which `Family.explain` returns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from cupola.declare.family import Value
from cupola.declare.tuning_table import DeviceRecord
from cupola.tuning.text_table import aligned, duration

_HEAD = ("key", "variant", "time", "over default", "distance", "table", "")


class Neighbour(NamedTuple):
    """A measured row near the key of a call."""

    distance: float
    """The root of the sum of the squares of the differences of ``log2(1 + size)``."""
    key: dict[str, int]
    variant: dict[str, Value]
    seconds: float
    default_seconds: float | None
    path: str
    device: DeviceRecord

    @property
    def gain(self) -> float | None:
        """The time of the declared default over that of the variant; None: not measured."""
        return None if self.default_seconds is None else self.default_seconds / self.seconds


@dataclass(frozen=True)
class Explanation:
    """The choice for one call; printed as text.

    Attributes
    ----------
    family : str
        The name.
    device : str
        The device's name.
    types : tuple of str
        The element types of the arguments that the declaration lists.
    key : dict of str to int
        The sizes that decide.
    variant : dict
        The chosen one.
    default : dict
        The declared default.
    row : Neighbour or None
        The measured row that has it; None where no row can be used.
    neighbours : tuple of Neighbour
        The nearest rows of all tables, at most five.
    ignored : tuple of str
        Tables for other code and variants that can't be launched, with the reasons.
    """

    family: str
    device: str
    types: tuple[str, ...]
    key: dict[str, int]
    variant: dict[str, Value]
    default: dict[str, Value]
    row: Neighbour | None
    neighbours: tuple[Neighbour, ...]
    ignored: tuple[str, ...]

    def __str__(self) -> str:
        typed = f" of {', '.join(self.types)}" if self.types else ""
        lines = [
            f"{self.family}{typed} on {self.device}, {_listed(self.key) or 'no key'}: "
            f"{_listed(self.variant)}"
        ]
        if self.row is None and self.variant == self.default:
            lines.append("  the declared default: no table has a row that can be used")
        elif self.row is None:
            lines.append("  the first variant that the device can launch, without the default")
        if self.neighbours:
            lines.append("  measured rows, nearest first:")
            lines += [f"  {line}" for line in aligned([_HEAD, *self._rows()])]
            lines += [f"  [{at}] {path}, of {name}" for (path, name), at in self._files().items()]
        lines += [f"  ignored: {text}" for text in self.ignored]
        return "\n".join(lines)

    def _files(self) -> dict[tuple[str, str], int]:
        """The tables of the rows, with their numbers."""
        found = dict.fromkeys((one.path, one.device.name) for one in self.neighbours)
        return {file: at for at, file in enumerate(found, 1)}

    def _rows(self) -> Iterator[tuple[str, ...]]:
        files = self._files()
        for one in self.neighbours:
            yield (
                _listed(one.key) or "no size",
                _listed(one.variant),
                duration(one.seconds),
                "" if one.default_seconds is None else f"{one.seconds / one.default_seconds:.3f}",
                f"{one.distance:.2f}",
                f"[{files[one.path, one.device.name]}]",
                "chosen" if one == self.row else "",
            )


def _listed(values: dict[str, int] | dict[str, Value]) -> str:
    return " ".join(f"{name}={value}" for name, value in values.items())
