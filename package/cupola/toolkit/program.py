# cupola/toolkit/program.py - one program for a compiler, its results, and the compilers' protocol.
"""The input and the output of NVRTC, of nvcc, and of the choice between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


def line_directive(title: str, line: int = 1) -> str:
    """The ``#line`` directive for a file of that name."""
    quoted = title.replace("\\", "\\\\").replace('"', '\\"')
    return f'#line {line} "{quoted}"\n'


@dataclass(frozen=True)
class Program:
    """One text for a compiler, with its options, headers and names."""

    text: str
    name: str  # for the compiler: #include "..." searches its folder first
    title: str  # in messages
    options: Sequence[str] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    expressions: Sequence[str] = ()  # C++ names of instances and variables to compile


@dataclass
class Compiled:
    """The results of a compilation; those not requested are empty."""

    ptx: bytes = b""
    cubin: bytes = b""
    ltoir: bytes = b""
    names: dict[str, str] = field(default_factory=dict)  # image's names by expression
    log: str = ""


class Compiler(Protocol):
    """A compiler of programs."""

    @property
    def identity(self) -> str:
        """A text for cache keys, which differs for every compiler."""

    def compile(self, program: Program) -> Compiled:
        """Compile one program.

        Raises
        ------
        CompileError
            Its text begins with the first error's file and line; `log` is the complete output.
        """
