# tools/tables.py - rows of records as cells of Markdown tables.
"""Tables, and a row's figure, floor, goal and verdict in words, for the pages of figures."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "benchmarks"))
records = importlib.import_module("records")


def plain(text: str) -> str:
    """The Markdown that shows `text` as it is: `kernel[grid, block](...)` becomes no link."""
    return re.sub(r"([\\`*_\[\]|])", r"\\\1", text)


def table(headings: list[str], rows: list[list[str]]) -> str:
    rows = [[plain(cell) for cell in row] for row in rows]
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def value(row: records.Row) -> str:
    ratio = "" if row.ratio is None or row.unit == "x" else f", {row.ratio:.3f} x"
    return f"{records.figure(row.value)} {row.unit}{ratio}"


def floor(row: records.Row) -> str:
    """The floor's time and name, without the title that the row's own name begins with."""
    if row.floor is None or row.floor_value is None:
        return ""
    title = row.what.rpartition(": ")[0] + ": "
    return f"{records.figure(row.floor_value)} {row.unit}, {row.floor.removeprefix(title)}"


def goal(row: records.Row) -> str:
    if row.goal is None:
        return ""
    measured, sign, bound = row.parsed_goal()
    if measured == "value" or row.floor is None:
        return f"{sign} {bound:,g} {row.unit}"
    return f"{sign} {bound:g} x"


def verdict(row: records.Row) -> str:
    shortfall = row.shortfall()
    if shortfall is None:
        return "no goal"
    return "met" if shortfall <= 1 else f"missed by {shortfall:.2f} x"


def origin(record: records.Record) -> str:
    return f"{record.device}, {record.date}, revision {record.revision}"
