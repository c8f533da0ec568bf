# cupola/compiler/lines.py - line information for checks, coverage and the debugger.
"""Options of the compilers for line information."""

from __future__ import annotations

import os
from collections.abc import Sequence

from cupola.toolkit.nvcc import DEBUG

# The variables of the CPU device whose output names lines of the source.
VARIABLES = ("CUPOLA_CPU_CHECK", "CUPOLA_CPU_COVERAGE", "CUPOLA_CPU_DEBUG")
LINES = ("-lineinfo", "--generate-line-info")


def with_lines(options: Sequence[str]) -> tuple[str, ...]:
    """The options, with ``-lineinfo`` where a variable of the CPU device needs lines."""
    needed = any(os.environ.get(name) for name in VARIABLES)
    if not needed or any(option in (*LINES, *DEBUG) for option in options):
        return tuple(options)
    return (*options, LINES[0])
