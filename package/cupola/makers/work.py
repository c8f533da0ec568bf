# cupola/makers/work.py - the launches of a call.
"""`Work`: the launches, results and arguments of a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from cupola.kernel import Kernel


class Launch(NamedTuple):
    """A launch; a call makes one or more launches."""

    kernel: Kernel
    grid: int
    block: int
    arguments: tuple[Any, ...]


class Work(NamedTuple):
    """The launches of a call, and what it returns."""

    launches: list[Launch]
    results: tuple[Any, ...]
    values: Mapping[str, Any]  # the arguments by name
    finish: Callable[[], None] | None = None  # copies into results that the kernel can't write
