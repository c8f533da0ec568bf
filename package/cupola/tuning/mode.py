# cupola/tuning/mode.py - CUPOLA_TUNE: how a launch chooses the variant of a family.
"""The environment's choice of variants."""

from __future__ import annotations

import os

from cupola.exceptions import ArgumentValueError

OFF, TABLES, FIRST_USE, ASK = "off", "tables", "first-use", "ask"
ON_GPUS = ""  # the variable is not set
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
