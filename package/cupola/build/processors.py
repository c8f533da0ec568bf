# package/cupola/build/processors.py - for which processors the CPU device's code is compiled.
"""Levels of the host's instruction set, and which of them a build makes."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from pathlib import Path

# Each level of the instruction set as -march calls it, and by what it is known: as in
# csrc/cpu/exec/processor.hpp.
AVX2 = {"avx2", "fma", "bmi1", "bmi2", "abm", "f16c", "movbe"}
AVX512 = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
X86_LEVELS = {"x86-64-v2": set(), "x86-64-v3": AVX2, "x86-64-v4": AVX2 | AVX512}

X86 = ("x86_64", "amd64")
# By which kernels' own code is named: NAME.LEVEL.so.
NAMES = (*X86_LEVELS, "aarch64", "generic")


def levels(which: str) -> tuple[str, ...]:
    """Levels that machine code of kernels is made for: of `architectures.hosts`, ``native`` means
    the best that this machine runs.
    """
    if not which:
        return ()
    machine = platform.machine().lower()
    if machine not in X86:
        return ("aarch64" if machine == "aarch64" else "generic",)
    if which != "native":
        return tuple(X86_LEVELS)
    features = processor_features()
    return (*(level for level in X86_LEVELS if features >= X86_LEVELS[level]),)[-1:]


def instruction_sets(everywhere: bool) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    """Names (CUPOLA_ISA), compiler flags and whether it is to be quick, the oldest processor first.

    Each takes a good part of a build. So what is not to be quick `everywhere` has this machine's
    own, and the oldest, so that it runs everywhere.
    """
    if platform.machine().lower() not in X86:
        yield "generic", (), True
        return
    own = levels("native")
    for level in X86_LEVELS:
        wanted = everywhere or level in own
        if wanted or level == "x86-64-v2":
            yield level.replace("-", "_"), (f"-march={level}",), wanted


def processor_features() -> set[str]:
    """What Linux says that this processor can do."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return set()
    line = next((line for line in text.splitlines() if line.startswith("flags")), "")
    return set(line.partition(":")[2].split())
