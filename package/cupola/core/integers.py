# cupola/core/integers.py - integers of any type that has __index__.
"""Values of arguments that are integers."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from cupola.exceptions import ArgumentTypeError, ArgumentValueError


def as_int(value: Any) -> int | None:
    """The value as an int; None where it is a bool or not an integer."""
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def checked_count(value: Any, name: str) -> int:
    """The value as an int of at least 1; an error names the argument."""
    count = as_int(value)
    if count is None:
        raise ArgumentTypeError(f"{name}= is an int of at least 1, got {value!r}")
    if count < 1:
        raise ArgumentValueError(f"{name}= is an int of at least 1, got {value!r}")
    return count
