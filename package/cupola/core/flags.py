# cupola/core/flags.py - the named tuple of an array's flags.
"""`Flags`, apart from `result_types`: functions of arrays import it at their first call."""

from __future__ import annotations

from typing import NamedTuple


class Flags(NamedTuple):
    """An array's memory layout, as in NumPy."""

    c_contiguous: bool
    f_contiguous: bool
    writeable: bool
