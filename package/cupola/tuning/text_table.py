# cupola/tuning/text_table.py - tables of measurements as text.
"""Times and aligned columns."""

from __future__ import annotations

from collections.abc import Sequence

_UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6))


def duration(seconds: float) -> str:
    """A time with four digits: in s, ms or us."""
    unit, factor = next((each for each in _UNITS if seconds >= each[1]), _UNITS[-1])
    return f"{seconds / factor:.4g} {unit}"


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """The first two columns to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            cell.rjust(width) if i > 1 else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
