# cupola/pipeline_call/integers.py - checks arguments that are counts.
"""Integers of any type that has __index__."""

from __future__ import annotations

from typing import Any

from cupola.exceptions import ArgumentTypeError, ArgumentValueError
from cupola.launching.integers import as_int


def checked_count(value: Any, name: str) -> int:
    """The value as an int of at least 1; an error names the argument."""
    count = as_int(value)
    if count is None:
        raise ArgumentTypeError(f"{name}= is an int of at least 1, got {value!r}")
    if count < 1:
        raise ArgumentValueError(f"{name}= is an int of at least 1, got {value!r}")
    return count
