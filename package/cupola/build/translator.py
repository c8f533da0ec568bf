# package/cupola/build/translator.py - translates .pyx to C++ with persistent Cython processes.
"""Cython, started once for many modules: its start takes longer than most translations."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from .error import BuildError
from .step import Step, failure_text

WORKER = Path(__file__).with_name("cython_worker.py")


class Translator:
    """A pool of translating processes, one for each concurrent request; a context manager."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._idle: list[subprocess.Popen[str]] = []  # append and pop are atomic
        self._all: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Translator:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for worker in self._all:
            worker.communicate()  # ends its input, and so the process

    def step(
        self,
        source: Path | None,
        target: Path,
        arguments: Sequence[str],
        *,
        inputs: Sequence[Path] = (),
        ignored: tuple[Path, ...] = (),
    ) -> Step:
        """A step that translates a .pyx file to C++ and lists the files it read.

        Without a source, the step makes the code that Cython's modules share.
        """
        import Cython

        if source is None:
            last = ("--generate-shared", str(target))
        else:
            last = ("--depfile", "-o", str(target), str(source))
        command = (*arguments, *last)
        step = Step(
            target=target,
            inputs=(source, *inputs) if source else inputs,
            command=("cython", *command),
            action=lambda: self._translate(step),
            key=("cython", Cython.__version__, *command),
            depfile=target.with_name(target.name + ".dep") if source else None,
            ignored=ignored,
            label=f"translate {source or target.name}",
        )
        return step

    def _translate(self, step: Step) -> float:
        try:  # another thread may take the last item at any time
            worker = self._idle.pop()
        except IndexError:
            worker = self._start()
        assert worker.stdin is not None and worker.stdout is not None
        try:
            worker.stdin.write(json.dumps(step.command[1:]) + "\n")
            worker.stdin.flush()
            line = worker.stdout.readline()
        except OSError:
            line = ""
        if not line:
            raise BuildError(f"{step.name}: Cython's process ended with status {worker.wait()}")
        self._idle.append(worker)
        answer = json.loads(line)
        if answer["status"]:
            (self._root / step.target).unlink(missing_ok=True)
            raise BuildError(failure_text(step, answer["output"], answer["status"]))
        if answer["output"].strip():
            print(answer["output"].rstrip(), flush=True)
        return float(answer["processor"])

    def _start(self) -> subprocess.Popen[str]:
        worker = subprocess.Popen(
            [sys.executable, str(WORKER)],
            cwd=self._root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._all.append(worker)
        return worker
