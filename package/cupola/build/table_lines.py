# package/cupola/build/table_lines.py - the lines of tables in pyproject.toml, for errors.
"""Lines of keys, which TOML readers do not report."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .error import BuildError

_KEY = re.compile(r"^\s*(?:\"([^\"]+)\"|'([^']+)'|([\w-]+))\s*=")


def lines_of(text: str, table: str) -> list[dict[str, int]]:
    """The line of each key of each table ``[[tool.cupola.TABLE]]``; "" is its head."""
    head = re.compile(rf"^\s*\[\[\s*tool\.cupola\.{table}\s*\]\]")
    inner = re.compile(rf"^\s*\[\s*tool\.cupola\.{table}\.(\w+)\s*\]")
    found: list[dict[str, int]] = []
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if head.match(line):
            found.append({"": number})
            inside = True
        elif re.match(r"^\s*\[", line) and not line.rstrip().endswith(","):
            nested = inner.match(line)
            if nested and found:
                found[-1].setdefault(nested[1], number)
            inside = False
        elif inside and (key := _KEY.match(line)):
            # The text of a multi-line string begins below its quotes.
            below = line.rstrip().endswith(('= """', "= '''"))
            found[-1].setdefault(next(filter(None, key.groups())), number + below)
    return found


def tables_with_lines(
    tables: Any, name: str, text: str
) -> list[tuple[Mapping[str, Any], dict[str, int]]]:
    """The tables ``[[tool.cupola.NAME]]``, each with the lines of its keys.

    Raises
    ------
    BuildError
        They are no list of tables.
    """
    if not isinstance(tables, list) or not all(isinstance(one, Mapping) for one in tables):
        raise BuildError(f"tool.cupola.{name} must be a list: write tables [[tool.cupola.{name}]]")
    lines = lines_of(text, name)
    return [
        (table, lines[index] if index < len(lines) else {}) for index, table in enumerate(tables)
    ]


def wrong(table: str, name: str, lines: Mapping[str, int], key: str, text: str) -> BuildError:
    """The error for a key of a table."""
    line = lines.get(key.partition(".")[0]) or lines.get("")
    where = f"pyproject.toml, line {line}: " if line else ""
    titled = " ".join(filter(None, (f"[[tool.cupola.{table}]]", name)))
    return BuildError(f"{where}{titled}: {f'{key}: ' if key else ''}{text}")
