# cupola/launching/integers.py - integers of any type that has __index__.
"""The value of an argument that is an integer."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np


def as_int(value: Any) -> int | None:
    """The value as an int; None where it is a bool or not an integer."""
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None
