# cupola/judging/source.py - a candidate that is a source: its task, and its compiled code.
"""Compiles a source to PTX, in a process with limits."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cupola.exceptions import ArgumentTypeError, ArgumentValueError, MissingFileError
from cupola.image.cxx_names import demangle
from cupola.judging.candidate import TITLE, Candidate
from cupola.judging.process import Ended, Limits, Process
from cupola.judging.subject import Subject
from cupola.judging.task import Task, task_of
from cupola.judging.verdict import Finding, Refused

_MOST_SOURCE = 4 << 20  # bytes
_ARCHITECTURE = "compute_90"


class Source(Subject):
    """A source in CUDA C++.

    Parameters
    ----------
    candidate : str or path-like
        A path or a text, as `cupola.judge` takes it.
    include, options : list of str
        Folders of headers, and options of the compiler.
    limits : Limits
    """

    def __init__(
        self, candidate: str | os.PathLike[str], include: list[str], options: list[str],
        limits: Limits,
    ) -> None:  # fmt: skip
        super().__init__(*_source(candidate))
        self._include, self._options, self._limits = include, options, limits
        self._names: dict[str, str] = {}

    def start(self) -> None:
        """Start the compiler's process."""
        self.processes.append(Process("compile_process", self._limits))

    def task(self, told: Mapping[str, Any]) -> Task:
        """The task of the reference's file, with the choices of the source."""
        return task_of(told, self.numbers)

    def load(self, task: Task, candidate: Candidate) -> dict[tuple[str, ...], str]:
        """Compile the source, load it, and return the kernels by types."""
        self.ptx = self._compiled(task)
        self.close()
        candidate.load(self.ptx)
        return {
            types: self._kernel(text, candidate) for types, text in task.declaration.kernels.items()
        }

    def _compiled(self, task: Task) -> bytes:
        texts = set(task.declaration.kernels.values())
        request = {
            "do": "compile", "title": TITLE, "architecture": _ARCHITECTURE,
            "include": self._include, "options": [*task.options, *self._options],
            "expressions": sorted(one for one in texts if re.search(r"[<:]", one)),
        }  # fmt: skip
        try:
            told, pieces = self.processes[0].ask(request, [self.numbers.encode()])
        except Ended as error:
            raise Refused(Finding(error.code, f"the compiler: {error.text}")) from None
        if "refused" in told:
            raise Refused(Finding("include-refused", f"#include of {told['refused'][:200]}"))
        if "unusable" in told:
            raise Refused(Finding("compiler", told["unusable"][:1000]))
        if "error" in told:
            text = told["error"] or "the compiler names no line of it"
            line = re.search(rf"^{re.escape(TITLE)}[(:](\d+)", text, re.MULTILINE)
            first = text.splitlines()[0]
            raise Refused(Finding("compile-error", first, int(line[1]) if line else 0, check=text))
        self.about["compiler"] = told["compiler"]
        self._names, self.resources = told["names"], told["resources"]
        return bytes(pieces[0])

    def _kernel(self, text: str, candidate: Candidate) -> str:
        """The name in the image of a kernel."""
        named = self._names.get(text, text)
        if named in candidate.kernels:
            return named
        by_title = {
            demangle(one).partition("(")[0].removeprefix("void ").rpartition("::")[2]: one
            for one in candidate.kernels
        }
        if text in by_title:
            return by_title[text]
        known = ", ".join(sorted(by_title)) or "none"
        raise Refused(
            Finding("compile-error", f"there is no kernel {text}: the source defines {known}")
        )


def _source(candidate: str | os.PathLike[str]) -> tuple[str, str]:
    """The title and the text of a candidate."""
    if not isinstance(candidate, (str, os.PathLike)):
        raise ArgumentTypeError(
            f"candidate: expected a path or a text, got {type(candidate).__name__}"
        )
    if isinstance(candidate, str) and ("\n" in candidate or not candidate.endswith(".cu")):
        return TITLE, candidate
    path = Path(candidate)
    if not path.is_file():
        raise MissingFileError(f"there is no candidate {path}")
    if path.stat().st_size > _MOST_SOURCE:
        raise ArgumentValueError(f"{path} has more than {_MOST_SOURCE:,} bytes")
    return str(path), path.read_text(encoding="utf-8", errors="replace")
