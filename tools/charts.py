# tools/charts.py - pictures of figures as SVG, legible on light and dark pages.
"""Bars and marks on a logarithmic axis of multiples of a floor."""

from __future__ import annotations

import math
from typing import NamedTuple
from xml.sax.saxutils import escape

WIDTH, RIGHT, TOP, FOOT = 860, 60, 46, 34  # pixels
LETTER = 6.3  # the width of a label's letter in pixels, at most
GRAY, BLUE, ORANGE, GREEN = "#7f7f7f", "#2f6fb3", "#cc7722", "#4a9a5b"


class Bar(NamedTuple):
    """A line of a chart: a multiple of the floor, its colour, and a goal where there is one."""

    label: str
    value: float
    color: str = BLUE
    goal: float | None = None


def ticks(lowest: float, highest: float) -> list[float]:
    """Values of the axis that enclose both: 1, 2 and 5 times powers of ten."""
    steps = [
        digit * 10.0**power
        for power in range(math.floor(math.log10(lowest)) - 1, math.ceil(math.log10(highest)) + 1)
        for digit in (1, 2, 5)
    ]
    first = max(step for step in steps if step <= lowest)
    last = min(step for step in steps if step >= highest)
    return [step for step in steps if first <= step <= last]


def bars(
    title: str, unit: str, rows: list[Bar], height: int = 18, legend: dict[str, str] | None = None
) -> str:
    """A chart of horizontal bars that begin at 1, which is the floor; a goal is a short line."""
    values = [row.value for row in rows] + [row.goal for row in rows if row.goal] + [1.0]
    marks = ticks(min(values), max(values))
    begin = 16 + LETTER * max(len(row.label) for row in rows)
    scale = (WIDTH - begin - RIGHT) / (math.log(marks[-1]) - math.log(marks[0]))
    bottom = TOP + height * len(rows)
    total = bottom + FOOT

    def x(value: float) -> float:
        return begin + (math.log(value) - math.log(marks[0])) * scale

    made = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {total}" '
        'font-family="sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
    ]
    place = begin
    for name, color in (legend or {}).items():
        made.append(f'<rect x="{place:.0f}" y="10" width="10" height="10" fill="{color}"/>')
        made.append(text(place + 15, 19, name))
        place += 40 + 7 * len(name)
    for mark in marks:
        width = 2 if mark == 1 else 0.5
        made.append(
            f'<path d="M{x(mark):.1f} {TOP - 6}V{bottom + 4}" stroke="{GRAY}" '
            f'stroke-width="{width}"/>'
        )
        made.append(text(x(mark), bottom + 16, f"{mark:g}", "middle"))
    made.append(text((begin + WIDTH - RIGHT) / 2, total - 4, unit, "middle"))
    for index, row in enumerate(rows):
        top = TOP + height * index
        left, right = sorted((x(1.0), x(row.value)))
        made.append(text(begin - 8, top + height * 0.72, row.label, "end"))
        made.append(
            f'<rect x="{left:.1f}" y="{top + 2}" width="{max(right - left, 1.5):.1f}" '
            f'height="{height - 4}" fill="{row.color}"/>'
        )
        made.append(text(right + 5, top + height * 0.72, f"{row.value:.2f}"))
        if row.goal:
            place = f'd="M{x(row.goal):.1f} {top}v{height}"'
            made.append(f'<path {place} stroke="{ORANGE}" stroke-width="2.5"/>')
    return "\n".join([*made, "</svg>\n"])


def text(x: float, y: float, content: str, anchor: str = "start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{GRAY}" text-anchor="{anchor}">'
        f"{escape(content)}</text>"
    )
