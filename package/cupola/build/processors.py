# package/cupola/build/processors.py - chooses processors to compile the CPU device's code for.
"""Levels of the host's instruction set that a build makes code for."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from pathlib import Path

from ..image.processor_levels import X86, X86_LEVELS


def levels(which: str, machine: str = "") -> tuple[str, ...]:
    """Levels that kernels' machine code is made for. For `architectures.hosts`, ``native`` is the
    best level that this machine supports. The levels are those of `machine`, else of this machine.
    """
    if not which:
        return ()
    machine = machine or platform.machine().lower()
    if machine not in X86:
        return ("aarch64" if machine == "aarch64" else "generic",)
    if which != "native":
        return tuple(X86_LEVELS)
    features = processor_features()
    return (*(level for level in X86_LEVELS if features >= X86_LEVELS[level]),)[-1:]


def instruction_sets(
    everywhere: bool, machine: str = ""
) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    """Names (CUPOLA_ISA), compiler flags and whether speed matters, oldest processor first, of
    `machine`, else of this machine.

    Each set takes a large part of a build. A build that need not be fast `everywhere` therefore has
    only this machine's own set, and the oldest set, which all supported machines can run. Few
    processors need the oldest set, so in a wheel, too, it is small in place of fast.
    """
    if (machine or platform.machine().lower()) not in X86:
        yield "generic", (), True
        return
    own = levels("native")
    for level in X86_LEVELS:
        oldest = level == "x86-64-v2"
        wanted = not oldest if everywhere else level in own
        if wanted or oldest:
            yield level.replace("-", "_"), (f"-march={level}",), wanted


def processor_features() -> set[str]:
    """The processor's features, as Linux lists them."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return set()
    line = next((line for line in text.splitlines() if line.startswith("flags")), "")
    return set(line.partition(":")[2].split())
