# cupola/tuning/heat_map.py - draws a table of ratios as SVG.
"""Heat maps over two tunables."""

from __future__ import annotations

import os
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from cupola.exceptions import ArgumentValueError

_WIDTH, _HEIGHT = 84, 32  # of a cell
_LETTER = 7.5
_TOP, _FOOT = 40, 44
_GRAY = "#444444"
# Colours at ratios 1 and _WORST, distinguishable in grey and for colour-blind readers.
_BEST_COLOUR, _WORST_COLOUR = (0, 158, 115), (240, 228, 210)
_NO_COLOUR = "#d9d9d9"
_WORST = 3.0


class Cell(NamedTuple):
    """A ratio with its text; None where there is none."""

    ratio: float | None
    text: str


Axis = tuple[str, Any]  # a tunable and its values, None where there is no such


def heat_map(
    path: str | os.PathLike[str],
    title: str,
    x: Axis,
    y: Axis,
    cell: Callable[[tuple[Any, Any]], Cell],
) -> None:
    """Write a heat map.

    Parameters
    ----------
    path : path-like
        A file that ends in ``.svg``.
    title : str
    x, y : (str, sequence)
        The names of the axes, and their values.
    cell : callable
        It gets the values of a column and a row.
    """
    if Path(path).suffix != ".svg":
        raise ArgumentValueError(f"{path}: a picture of a tuning is a .svg file")
    for (name, values), axis in ((x, "x"), (y, "y")):
        if values is None:
            raise ArgumentValueError(f"{axis}={name!r} is no tunable of the family")
    if x[0] == y[0]:
        raise ArgumentValueError(f"x= and y= are both {x[0]!r}: expected two tunables")
    (x_name, columns), (y_name, rows) = x, y
    left = 24 + _LETTER * max(len(y_name), *(len(str(value)) for value in rows))
    width = max(left + _WIDTH * len(columns) + 16, 24 + _LETTER * len(title))
    bottom = _TOP + _HEIGHT * len(rows)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {bottom + _FOOT}" '
        'font-family="sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width:.0f}" height="{bottom + _FOOT}" fill="white"/>',
        _text(16, 18, title, "start"),
        _text(left - 8, _TOP - 6, y_name, "end"),
        _text(left + _WIDTH * len(columns) / 2, bottom + 36, x_name),
    ]
    for place, value in enumerate(columns):
        lines.append(_text(left + _WIDTH * (place + 0.5), bottom + 18, str(value)))
    for place, value in enumerate(rows):
        top = _TOP + _HEIGHT * place
        lines.append(_text(left - 8, top + 20, str(value), "end"))
        for at, column in enumerate(columns):
            found = cell((column, value))
            begin = left + _WIDTH * at
            lines.append(
                f'<rect x="{begin:.0f}" y="{top}" width="{_WIDTH - 2}" height="{_HEIGHT - 2}" '
                f'fill="{_colour(found.ratio)}"/>'
            )
            lines.append(_text(begin + _WIDTH / 2 - 1, top + 20, found.text))
    Path(path).write_text("\n".join([*lines, "</svg>\n"]), encoding="utf-8")


def _colour(ratio: float | None) -> str:
    if ratio is None:
        return _NO_COLOUR
    part = min(1.0, max(0.0, (ratio - 1) / (_WORST - 1)))
    mixed = (
        round(best + part * (worst - best))
        for best, worst in zip(_BEST_COLOUR, _WORST_COLOUR, strict=True)
    )
    return "#" + "".join(f"{value:02x}" for value in mixed)


def _text(x: float, y: float, content: str, anchor: str = "middle") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{_GRAY}" text-anchor="{anchor}">'
        f"{escape(content)}</text>"
    )
