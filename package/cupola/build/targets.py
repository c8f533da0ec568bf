# package/cupola/build/targets.py - names of the targets of CUDA compilers: 90, 90a, 100f.
"""Targets of a compiler: a number, and a suffix for architecture- or family-specific code."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_NAME = re.compile(r"([1-9]\d{1,2})([af]?)")


class Target(NamedTuple):
    """``90a`` is ``Target(90, "a")``: sm_90a in machine code, compute_90a in PTX."""

    number: int
    suffix: str = ""  # "a": for this compute capability alone; "f": for its family

    def __str__(self) -> str:
        return f"{self.number}{self.suffix}"

    @property
    def in_manifest(self) -> int | str:
        """75, or ``"90a"``."""
        return str(self) if self.suffix else self.number


def read(word: str) -> Target | None:
    """The target that a word names; None if it names none."""
    found = _NAME.fullmatch(word.strip())
    return Target(int(found[1]), found[2]) if found else None


def names(targets: Iterable[Target], prefix: str = "sm_") -> str:
    """``sm_75, sm_90a``."""
    return ", ".join(f"{prefix}{target}" for target in targets)
