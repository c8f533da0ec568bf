# cupola/judging/judgement.py - cupola.judge: whether a kernel is right, without a GPU.
"""Compiles a candidate, runs it over generated inputs, and gives a verdict."""

from __future__ import annotations

import math
import os
import shutil
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cupola.exceptions import ArgumentTypeError, ArgumentValueError, MissingFileError
from cupola.judging.advice import of_coverage, of_resources, of_traffic
from cupola.judging.candidate import Candidate, LoadError, number
from cupola.judging.codes import CODES
from cupola.judging.inputs import Cases
from cupola.judging.large import beyond_grid, judge_large
from cupola.judging.launches import Launches
from cupola.judging.operation import Operation
from cupola.judging.own_results import OwnResults
from cupola.judging.process import Limits
from cupola.judging.reference import BrokenReference, Reference
from cupola.judging.shipped import is_operation
from cupola.judging.source import Source
from cupola.judging.subject import Subject
from cupola.judging.task import TaskError, dtype_of
from cupola.judging.trials import Trials
from cupola.judging.verdict import Finding, Refused, Verdict

__all__ = ["judge"]

_MOST_CASE = 256 << 20  # bytes of a file that replays a finding


def judge(
    candidate: str | os.PathLike[str], *, against: str | os.PathLike[str] | None = None,
    include: Iterable[str | os.PathLike[str]] = (), options: Sequence[str] = (),
    cases: str | os.PathLike[str] | None = None, seconds: float = 4.0,
    limits: Limits | None = None,
) -> Verdict:  # fmt: skip
    """Judge whether a CUDA kernel computes what a reference computes, on the CPU device.

    A source is compiled to PTX. Of an installed package, the manifest and the image are read, and
    nothing of it is imported. The PTX runs in a process with limits; no host code of it runs.

    Parameters
    ----------
    candidate : str or path-like
        A file's path, the text of the source, or an operation of an installed package, as
        ``"heat:step"``. A string is a path if it is one line that ends in ``.cu``.
    against : path-like, optional
        The Python file of the task: ``operation`` and the function ``reference``. It is run, so
        it must be trusted. An operation needs no file: its package has the declaration. Without
        ``reference``, its results are not compared with other results.
    include : iterable of paths
        Folders of headers that a source may include.
    options : sequence of str
        Options of the compiler of a source.
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
    if against is not None and not os.path.isfile(against):
        raise MissingFileError(f"there is no reference {os.fspath(against)}")
    folders = [os.path.abspath(one) for one in include]
    for one in folders:
        if not os.path.isdir(one):
            raise MissingFileError(f"include: there is no folder {one}")
    if not seconds > 0:
        raise ArgumentValueError(f"seconds: expected a number above 0, got {seconds!r}")
    limits = limits or Limits()
    if is_operation(candidate):
        if folders or options:
            raise ArgumentValueError("include and options are for sources, which are compiled")
        subject: Subject = Operation(str(candidate))
    elif against is None:
        raise ArgumentTypeError("against: expected the file of the reference for a source")
    else:
        subject = Source(candidate, folders, list(options), limits)
    return _Judgement(subject, limits, seconds).made(against, cases)


class _Judgement:
    """One verdict in the making."""

    def __init__(self, subject: Subject, limits: Limits, seconds: float) -> None:
        self.subject, self.limits, self.seconds = subject, limits, seconds
        self.findings: list[Finding] = []
        self.about: dict[str, Any] = {}

    def made(self, against: Any, cases: Any) -> Verdict:
        start = time.monotonic()
        reference = candidate = None
        try:
            self.subject.start()
            reference = None if against is None else Reference(against, self.limits)
            candidate = Candidate(self.limits)
            self._judged(reference, candidate, cases)
        except Refused as error:
            self.findings.append(error.finding)
        except (BrokenReference, TaskError, LoadError) as error:
            self.findings.append(Finding(error.code, error.text, getattr(error, "line", 0)))
        finally:
            for one in (self.subject, reference, candidate):
                if one is not None:
                    one.close()
        found = {CODES[one.code].verdict for one in self.findings}
        verdict = next((one for one in ("refused", "wrong") if one in found), "right")
        self.findings.sort(key=lambda one: one.advice)
        return Verdict(
            verdict, self.subject.title, self.findings, candidate.runs if candidate else 0,
            time.monotonic() - start, self.about,
        )  # fmt: skip

    def _judged(self, reference: Reference | None, candidate: Candidate, cases: Any) -> None:
        task = self.subject.task({} if reference is None else reference.task())
        kernels = self.subject.load(task, candidate)
        self.about["isolation"] = candidate.cut
        own = reference.inputs if task.has_inputs and reference is not None else None
        made = Cases(task, self.subject.numbers, own)
        launches: Launches
        if task.has_reference and reference is not None:
            launches = Launches(task, made, reference, candidate, kernels)
        else:
            launches = OwnResults(task, made, candidate, kernels)
        trials = Trials(launches, self.seconds)
        try:
            trials.run()
            self.findings += self.subject.further(trials, self.seconds)
        finally:
            self.findings += launches.findings
            self.about.update(self.subject.about)
        types = next(iter(kernels))
        if all(one.advice for one in launches.findings):
            self.findings += beyond_grid(task, made, types)
            self.findings += judge_large(task, made, self.subject.ptx, kernels, self.limits)
        self._advise(trials, self.subject.resources)
        self.about["cases"] = {"values": launches.kinds, "skipped": launches.skipped}
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
        self.about["coverage"], uncovered = of_coverage(
            self.subject.counted(launches.candidate.counts())
        )
        if not launches.faults:
            self.findings += (replace(one, file=launches.file) for one in uncovered)
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
        about, found = of_traffic(run.traffic, output, launches.candidate.title)
        self.about["memory"] = {"sizes": basis.sizes, **about}
        self.findings += (replace(one, file=launches.file if one.line else "") for one in found)

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
