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


# The first nvcc that knows a target, and the first one that no longer does.
_SINCE = {
    **dict.fromkeys(("90a",), "12.0"),
    **dict.fromkeys(("100", "100a", "101", "101a", "120", "120a"), "12.8"),
    **dict.fromkeys(("103", "103a", "121", "121a"), "12.9"),
    **dict.fromkeys(("100f", "101f", "103f", "120f", "121f"), "12.9"),
    **dict.fromkeys(("88", "110", "110a", "110f"), "13.0"),
}
_UNTIL = {
    **dict.fromkeys(("50", "52", "53", "60", "61", "62", "70", "72"), "13.0"),
    **dict.fromkeys(("101", "101a", "101f"), "13.0"),
}


def compilers(targets: Iterable[Target]) -> str:
    """The versions of nvcc that know targets, as ``"; nvcc 12.8 and newer know sm_100"``; empty
    where no version is known to.
    """
    known: dict[str, list[Target]] = {}
    for target in targets:
        since, until = _SINCE.get(str(target)), _UNTIL.get(str(target))
        words = [f"{since} and newer" if since else "", f"before {until}" if until else ""]
        text = ", ".join(word for word in words if word)
        if text:
            known.setdefault(text, []).append(target)
    return "".join(f"; nvcc {text} knows {names(found)}" for text, found in known.items())
