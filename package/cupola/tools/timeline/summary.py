# cupola/tools/timeline/summary.py - the times of a profile's operations, added up by name.
"""Sums over equal operations, and their table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cupola.core.result_types import Operation

_HEAD = ("operation", "calls", "device ms", "%", "mean us", "max us", "GB/s", "host ms")


class OperationSum(NamedTuple):
    """All operations of one kind and name in a profile; times are in seconds."""

    kind: str
    name: str
    calls: int
    host: float
    """Time in calls, of all threads together."""
    timed: int
    """The number of calls whose time on the device is known."""
    device: float
    """Time on the device, of all streams together."""
    longest: float
    """The longest time of one call on the device."""
    bytes: int
    """Bytes of the copies and fills whose time on the device is known."""

    @property
    def mean(self) -> float:
        """The mean time on the device of a call; 0 where none is known."""
        return self.device / self.timed if self.timed else 0.0


class Summary(tuple[OperationSum, ...]):
    """The sums of a profile, those with the longest time on the device first; printed as a table.

    The column ``%`` is a row's part of the device time of all rows. Streams that run at the same
    time each count.
    """

    __slots__ = ()

    def __str__(self) -> str:
        whole = sum(one.device for one in self)
        rows = [_HEAD, *(_cells(one, whole) for one in self)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(_HEAD))]
        return "\n".join(_line(row, widths) for row in rows)


def summarize(operations: Iterable[Operation]) -> Summary:
    """Add up the operations of one kind and name."""
    by_name: dict[tuple[str, str], list[Operation]] = {}
    for one in operations:
        by_name.setdefault((one.kind, one.name), []).append(one)
    sums = [_sum(kind, name, alike) for (kind, name), alike in by_name.items()]
    return Summary(sorted(sums, key=lambda one: (-one.device, -one.host)))


def _sum(kind: str, name: str, alike: Sequence[Operation]) -> OperationSum:
    host = sum(one.call_end - one.call_begin for one in alike)
    times, moved = [], 0
    for one in alike:
        if one.begin is not None and one.end is not None:
            times.append(one.end - one.begin)
            moved += one.bytes
    return OperationSum(
        kind, name, len(alike), host, len(times), sum(times), max(times, default=0.0), moved
    )


def _cells(one: OperationSum, whole: float) -> tuple[str, ...]:
    name = one.name if one.name in (one.kind, "") else f"{one.kind} {one.name}"
    name = name or one.kind
    if not one.timed:
        return (name, str(one.calls), *[""] * 5, f"{one.host * 1e3:.3f}")
    return (
        name,
        str(one.calls),
        f"{one.device * 1e3:.3f}",
        f"{100 * one.device / whole:.1f}" if whole else "",
        f"{one.mean * 1e6:.1f}",
        f"{one.longest * 1e6:.1f}",
        f"{one.bytes / one.device * 1e-9:.3g}" if one.bytes and one.device else "",
        f"{one.host * 1e3:.3f}",
    )


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (
        cell.rjust(width) if i else cell.ljust(width)
        for i, (cell, width) in enumerate(zip(row, widths, strict=True))
    )
    return "  ".join([first, *others]).rstrip()
