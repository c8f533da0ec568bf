# cupola/tuning/mode.py - CUPOLA_TUNE: how a launch chooses the variant of a family; its budget.
"""The environment's choice of variants."""

from __future__ import annotations

import contextlib
import math
import os

from cupola.exceptions import ArgumentValueError

OFF, TABLES, FIRST_USE, ASK = "off", "tables", "first-use", "ask"
ON_GPUS = ""  # the variable is not set
_FIRST_USE_SECONDS = 10.0
MODES = (OFF, TABLES, FIRST_USE, ASK)


def mode() -> str:
    """The value of CUPOLA_TUNE.

    Raises
    ------
    ArgumentValueError
        It is none of `MODES`.
    """
    value = os.environ.get("CUPOLA_TUNE", ON_GPUS)
    if value and value not in MODES:
        raise ArgumentValueError(f'CUPOLA_TUNE is "{value}"; expected one of {", ".join(MODES)}')
    return value


def first_use_seconds() -> float:
    """The value of CUPOLA_TUNE_SECONDS: the budget of a measurement at first use.

    Raises
    ------
    ArgumentValueError
        It is no number of seconds above 0.
    """
    text = os.environ.get("CUPOLA_TUNE_SECONDS", "")
    if not text:
        return _FIRST_USE_SECONDS
    with contextlib.suppress(ValueError):
        seconds = float(text)
        if math.isfinite(seconds) and seconds > 0:
            return seconds
    raise ArgumentValueError(
        f'CUPOLA_TUNE_SECONDS is "{text}"; expected a number of seconds above 0'
    )
