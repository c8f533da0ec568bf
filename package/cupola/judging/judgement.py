# cupola/judging/judgement.py - cupola.judge: whether a kernel is right, without a GPU.
"""Compiles a candidate, runs it over generated inputs, and gives a verdict."""

from __future__ import annotations

import math
import os
import re
import shutil
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from cupola.exceptions import ArgumentTypeError, ArgumentValueError, MissingFileError
from cupola.image.cxx_names import demangle
from cupola.judging.advice import of_coverage, of_resources, of_traffic
from cupola.judging.candidate import TITLE, Candidate, LoadError, number
from cupola.judging.codes import CODES
from cupola.judging.inputs import Cases
from cupola.judging.large import judge_large
from cupola.judging.launches import Launches
from cupola.judging.process import Ended, Limits, Process
from cupola.judging.reference import BrokenReference, Reference
from cupola.judging.task import Task, TaskError, dtype_of, task_of
from cupola.judging.trials import Trials
from cupola.judging.verdict import Finding, Verdict

__all__ = ["judge"]

_MOST_SOURCE = 4 << 20  # bytes
_MOST_CASE = 256 << 20  # bytes of a file that replays a finding
_ARCHITECTURE = "compute_90"


def judge(
    candidate: str | os.PathLike[str], *, against: str | os.PathLike[str],
    include: Iterable[str | os.PathLike[str]] = (), options: Sequence[str] = (),
    cases: str | os.PathLike[str] | None = None, seconds: float = 4.0,
    limits: Limits | None = None,
) -> Verdict:  # fmt: skip
    """Judge whether a CUDA kernel computes what a reference computes, on the CPU device.

    The candidate is compiled to PTX and run in a process with limits; no host code of it runs.

    Parameters
    ----------
    candidate : str or path-like
        A file's path, or the text of the source: a string is a path if it is one line that ends
        in ``.cu``.
    against : path-like
        The Python file of the task: ``operation`` and the function ``reference``. It is run, so
        it must be trusted.
    include : iterable of paths
        Folders of headers that the candidate may include.
    options : sequence of str
        Options of the compiler.
    cases : path-like, optional
        A folder that gets a file for each finding, for ``python -m cupola replay``.
    seconds : float
        After these, no further inputs are generated.
    limits : Limits, optional
        The limits of each process.

    Returns
    -------
    Verdict

    Raises
    ------
    ArgumentTypeError, ArgumentValueError, MissingFileError
        An argument is invalid; nothing was run.
    """
    title, source = _source(candidate)
    if not os.path.isfile(against):
        raise MissingFileError(f"there is no reference {os.fspath(against)}")
    folders = [os.path.abspath(one) for one in include]
    for one in folders:
        if not os.path.isdir(one):
            raise MissingFileError(f"include: there is no folder {one}")
    if not seconds > 0:
        raise ArgumentValueError(f"seconds: expected a number above 0, got {seconds!r}")
    judgement = _Judgement(source, title, limits or Limits(), seconds)
    return judgement.made(against, folders, list(options), cases)


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


class _Refused(Exception):
    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.text)
        self.finding = finding


class _Judgement:
    """One verdict in the making."""

    def __init__(self, source: str, title: str, limits: Limits, seconds: float) -> None:
        self.source, self.title, self.limits, self.seconds = source, title, limits, seconds
        self.findings: list[Finding] = []
        self.about: dict[str, Any] = {}

    def made(
        self, against: Any, include: list[str], options: list[str], cases: Any
    ) -> Verdict:  # fmt: skip
        start = time.monotonic()
        compiler = Process("compile_process", self.limits)
        reference = Reference(against, self.limits)
        candidate = Candidate(self.limits)
        try:
            self._judged(compiler, reference, candidate, include, options, cases)
        except _Refused as error:
            self.findings.append(error.finding)
        except (BrokenReference, TaskError, LoadError) as error:
            self.findings.append(Finding(error.code, error.text, getattr(error, "line", 0)))
        finally:
            for one in (compiler, reference, candidate):
                one.close()
        found = {CODES[one.code].verdict for one in self.findings}
        verdict = next((one for one in ("refused", "wrong") if one in found), "right")
        self.findings.sort(key=lambda one: one.advice)
        return Verdict(
            verdict, self.title, self.findings, candidate.runs, time.monotonic() - start, self.about
        )

    def _judged(
        self, compiler: Process, reference: Reference, candidate: Candidate, include: list[str],
        options: list[str], cases: Any,
    ) -> None:  # fmt: skip
        task = task_of(reference.task(), self.source)
        ptx, told = self._compiled(compiler, task, include, options)
        compiler.close()
        candidate.load(ptx)
        self.about["isolation"] = candidate.cut
        kernels = {
            types: self._kernel(text, told["names"], candidate)
            for types, text in task.declaration.kernels.items()
        }
        own = reference.inputs if task.has_inputs else None
        launches = Launches(task, Cases(task, self.source, own), reference, candidate, kernels)
        trials = Trials(launches, self.seconds)
        try:
            trials.run()
        finally:
            self.findings += launches.findings
        if not launches.findings:
            self.findings += judge_large(task, launches.cases, ptx, kernels, self.limits)
        self._advise(trials, told["resources"])
        self.about["cases"] = {"values": launches.kinds, "skipped": launches.skipped}
        types = next(iter(kernels))
        for one in task.declaration.outputs:
            rtol, atol = task.tolerance(dtype_of(task.declaration, one, types))
            self.about.setdefault("tolerances", {})[one.name] = {"rtol": rtol, "atol": atol}
        if not launches.kinds:
            self.findings.append(Finding("task", f"no case could be run: {launches.skipped}"))
        if cases is not None:
            self._write_cases(launches, Path(cases))

    def _advise(self, trials: Trials, resources: Any) -> None:
        """Add resources and coverage, and what they suggest."""
        launches = trials.launches
        self.about["coverage"], uncovered = of_coverage(launches.candidate.counts())
        if not launches.faults:
            self.findings += uncovered
        basis = trials.largest
        if basis is None:
            return
        kernel = launches.names[basis.types]
        launch = launches.task.declaration.launch
        block = [number(one, basis) for one in launch["block"]]
        dynamic = sum(number(one, basis) for one in launch.get("shared", ()))
        about, found = of_resources(resources.get(kernel, {}), math.prod(block), dynamic)
        self.about["resources"] = about
        self.findings += found
        if launches.findings:
            return
        run = launches.candidate.run(launches.task, kernel, basis, traffic=True)
        written = {one.name for one in launches.task.declaration.outputs}
        output = sum(array.nbytes for name, array in run.arrays.items() if name in written)
        about, found = of_traffic(run.traffic, output)
        self.about["memory"] = {"sizes": basis.sizes, **about}
        self.findings += found

    def _compiled(
        self, compiler: Process, task: Task, include: list[str], options: list[str]
    ) -> tuple[bytes, dict[str, Any]]:
        texts = set(task.declaration.kernels.values())
        request = {
            "do": "compile", "title": TITLE, "architecture": _ARCHITECTURE, "include": include,
            "options": [*task.options, *options],
            "expressions": sorted(one for one in texts if re.search(r"[<:]", one)),
        }  # fmt: skip
        try:
            told, pieces = compiler.ask(request, [self.source.encode()])
        except Ended as error:
            raise _Refused(Finding(error.code, f"the compiler: {error.text}")) from None
        if "refused" in told:
            raise _Refused(Finding("include-refused", f"#include of {told['refused'][:200]}"))
        if "unusable" in told:
            raise _Refused(Finding("compiler", told["unusable"][:1000]))
        if "error" in told:
            text = told["error"] or "the compiler names no line of it"
            line = re.search(rf"^{re.escape(TITLE)}[(:](\d+)", text, re.MULTILINE)
            first = text.splitlines()[0]
            raise _Refused(Finding("compile-error", first, int(line[1]) if line else 0, check=text))
        self.about["compiler"] = told["compiler"]
        return bytes(pieces[0]), told

    def _kernel(self, text: str, names: dict[str, str], candidate: Candidate) -> str:
        """The name in the image of a kernel."""
        named = names.get(text, text)
        if named in candidate.kernels:
            return named
        by_title = {
            demangle(one).partition("(")[0].removeprefix("void ").rpartition("::")[2]: one
            for one in candidate.kernels
        }
        if text in by_title:
            return by_title[text]
        known = ", ".join(sorted(by_title)) or "none"
        raise _Refused(
            Finding("compile-error", f"there is no kernel {text}: the source defines {known}")
        )

    def _write_cases(self, launches: Launches, folder: Path) -> None:
        """Run the launches of findings again, each in a new process, and keep their recordings."""
        folder.mkdir(parents=True, exist_ok=True)
        for place, finding in enumerate(self.findings):
            origin = launches.origins.get(id(finding))
            if origin is None or origin.layout.aliases:
                continue
            launches.candidate.restart()
            launches.candidate.run(
                origin.task, origin.kernel, origin.case, origin.layout, origin.seed, "case.cupola"
            )
            made = launches.candidate.written("case.cupola")
            if made.is_file() and not made.is_symlink() and made.stat().st_size <= _MOST_CASE:
                path = folder / f"{place + 1:02d}-{finding.code}.cupola"
                shutil.copyfile(made, path)
                finding.case = str(path)
