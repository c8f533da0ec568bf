# cupola/compiler/front_end.py - chooses NVRTC or nvcc for a source, by what the source needs.
"""The compiler of a request: NVRTC where it suffices, else nvcc."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path

from cupola.compiler.options import are_for_nvrtc, for_nvcc, for_nvrtc
from cupola.exceptions import CompileError
from cupola.toolkit import nvcc
from cupola.toolkit.nvrtc import Nvrtc
from cupola.toolkit.program import Compiled, Compiler, Program

# The C and C++ headers that device code uses, for NVRTC, which has none.
HEADERS = str(Path(__file__).parent / "include")
_MISSING = re.compile(r'cannot open source file "([^"]+)"')
_HOST_CODE = re.compile(
    r"is considered a host |explicitly marked as a __host__|expected an expression.*\n.*<<<"
)
# NVRTC also says this of a wrong declaration, and then names the better line of the two compilers.
_HOST_VARIABLE = re.compile(r"is considered a host variable")
_UNKNOWN = re.compile(r'identifier "[^"]+" is undefined|namespace "[^"]*" has no|name must be a')
_FIRST_ERROR = re.compile(r"^(.+)\(\d+\): (?:catastrophic )?error", re.MULTILINE)
_OPTION = re.compile(r"unrecognized option|invalid value for")


class FrontEnd:
    """Compiles sources with NVRTC, and those with host code or host headers with nvcc.

    Parameters
    ----------
    compiler : Nvrtc
    """

    def __init__(self, compiler: Nvrtc) -> None:
        self.nvrtc = compiler
        self.architectures = compiler.architectures
        self._nvcc, self._tried = nvcc.find(compiler.found)
        self._chosen: dict[str, Compiler] = {}  # by the source's name

    def __str__(self) -> str:
        return str(self.nvrtc)

    @property
    def identity(self) -> str:
        """The compilers' identity, for cache keys."""
        return f"{self.nvrtc.identity} {self._nvcc.identity if self._nvcc else ''}"

    def folders(self, include: Sequence[str]) -> tuple[str, ...]:
        """The folders of headers that NVRTC searches: given ones, cupola's, the toolkit's."""
        return (*include, HEADERS, *self.nvrtc.found.headers())

    def compile(self, program: Program) -> Compiled:
        """Compile one program; see `cupola.toolkit.program.Compiler`."""
        chosen = self._chosen.get(program.name)
        if chosen is not None:
            return self._compile_by(chosen, program)
        try:
            made = self._compile_by(self.nvrtc, program)
        except CompileError as error:
            need, certain = _need(error.log, program.text, self.nvrtc.found.headers())
            if not need or are_for_nvrtc(program.options):
                raise
            if program.expressions and not certain and self._compiles_without_names(program):
                raise  # a name expression is at fault
            if self._nvcc is None:
                raise self._missing_nvcc_error(error, need) if certain else error from None
            try:
                made = self._compile_by(self._nvcc, program)
            except CompileError as of_nvcc:
                slip = _HOST_VARIABLE.search(error.log) and "<<<" not in program.text
                raise of_nvcc if certain and not slip else error from None
            self._chosen[program.name] = self._nvcc
            return made
        self._chosen[program.name] = self.nvrtc
        return made

    def _compile_by(self, chosen: Compiler, program: Program) -> Compiled:
        given = program.options
        words = for_nvrtc(given) if chosen is self.nvrtc else self._nvcc_words(given)
        return chosen.compile(dataclasses.replace(program, options=words))

    def _compiles_without_names(self, program: Program) -> bool:
        try:
            self._compile_by(self.nvrtc, dataclasses.replace(program, expressions=()))
        except CompileError:
            return False
        return True

    def _nvcc_words(self, options: Sequence[str]) -> list[str]:
        # nvcc adds the folders of its toolkit, and the host's compiler those of C and C++.
        own = {f"--include-path={folder}" for folder in self.folders(())}
        return for_nvcc([word for word in options if word not in own])

    def _missing_nvcc_error(self, error: CompileError, need: str) -> CompileError:
        first, _, rest = str(error).partition("\n")
        places = "".join(f"\n    {one}" for one in self._tried)
        return CompileError(
            f"{first}\n  NVRTC compiles device code alone, and this source {need}: it needs nvcc, "
            f"which was not found:{places}\n  {nvcc.REMEDY}\n{rest}",
            error.log,
        )


def _need(log: str, source: str, toolkit: Sequence[str] = ()) -> tuple[str, bool]:
    """The reason to try nvcc, or "", and whether NVRTC certainly can't compile the source."""
    if _OPTION.search(log):
        return "", False
    missing = _MISSING.search(log)
    if missing:
        # A header of C++ has no suffix. A file with a suffix may be a typing error.
        return f"includes {missing[1]}", "." not in missing[1]
    if _HOST_CODE.search(log) or "<<<" in source:
        return "has host code", True
    first = _FIRST_ERROR.search(log)
    if first and first[1].startswith(tuple(f"{folder}/" for folder in toolkit)):
        return f"includes {first[1]}, which NVRTC refuses", False
    return (
        ("uses names that NVRTC does not declare", False) if _UNKNOWN.search(log) else ("", False)
    )
