# package/cupola/build/line_information.py - CUPOLA_COVERAGE: line information in a test build.
"""nvcc's options for builds whose coverage is measured."""

from __future__ import annotations

import os
from collections.abc import Mapping

from .error import BuildError

VARIABLE = "CUPOLA_COVERAGE"
_OPTIONS = {"": [], "0": [], "1": ["-lineinfo"], "exact": ["--device-debug"]}


def options(environment: Mapping[str, str] | None = None) -> list[str]:
    """The options that CUPOLA_COVERAGE adds: with ``exact``, code is not optimised either."""
    text = (os.environ if environment is None else environment).get(VARIABLE, "")
    if text not in _OPTIONS:
        raise BuildError(
            f"{VARIABLE}={text}: expected 1 (line information), exact (no optimisation, exact "
            "lines) or 0"
        )
    return list(_OPTIONS[text])
