# package/cupola/build/step.py - incremental build steps, which run in parallel.
"""Incremental, parallel build steps."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from ..exceptions import Error
from . import compile_cache
from .depfile import dependencies
from .error import BuildError
from .schedule import Schedule
from .timings import Timings

HEADERS = (".h", ".hh", ".hpp", ".hxx", ".cuh", ".inl", ".inc", ".ipp", ".tpp", ".tcc")


@dataclass(frozen=True)
class Step:
    """A target made from inputs by a command, or by a function of this process.

    A function that used other processes returns their processor time in seconds, a float.
    """

    target: Path
    inputs: tuple[Path, ...]
    command: tuple[str, ...] = ()
    action: Callable[[], object] | None = None
    label: str = ""
    depfile: Path | None = None  # in make's format, written by the command: further inputs
    # Identifies the step instead of the command, if that names a folder that changes in each build
    # without a change of its content (a compiler in an isolated environment).
    key: tuple[str, ...] = field(default=())
    ignored: tuple[Path, ...] = ()  # folders whose files in the dependency file are ignored
    weight: float = 1  # estimated processor time in seconds: long steps begin first
    quiet: bool = False  # prints no line
    folders: tuple[Path, ...] = ()  # folders that the command needs, besides its target's
    extras: tuple[Path, ...] = ()  # further products of the command
    cached: bool = False  # whether a cached result of the same files may be used
    searched: tuple[Path, ...] = ()  # folders that the command searches for headers

    @property
    def record(self) -> Path:
        """The file beside the target that records its command and inputs."""
        return self.target.with_name(self.target.name + ".made")

    def identity(self, root: Path) -> list[str]:
        """The command's identity: if it changes, the target is stale."""
        # Installed folders are not searched for new files.
        folders = [folder for folder in self.searched if not folder.is_absolute()]
        names = set().union(*(_headers(root, folder) for folder in folders))
        return [*(self.key or self.command), *sorted(names)]

    @property
    def name(self) -> str:
        """The name in messages."""
        return self.label or self.target.name


def jobs() -> int:
    """The number of parallel steps: CUPOLA_BUILD_JOBS, else this process's processors."""
    text = os.environ.get("CUPOLA_BUILD_JOBS", "")
    if not text:
        return max(1, len(os.sched_getaffinity(0)))
    if not re.fullmatch(r"[1-9]\d{0,3}", text):
        raise BuildError(f"CUPOLA_BUILD_JOBS={text}: expected a number, at least 1")
    return int(text)


class Progress:
    """One line for each step. A terminal shows one line, a file a few of many steps."""

    # A file gets each of up to EACH steps, and of more steps the first one of each part.
    EACH, PARTS = 24, 8

    def __init__(self) -> None:
        self.total = 0
        self.done = 0
        self._open = False
        self._part = -1

    def start(self, label: str) -> None:
        """Show that a step begins."""
        line = f"[{self.done + 1}/{self.total}] {label}"
        if sys.stdout.isatty():
            # A longer line would wrap, and only its last row could be rewritten.
            columns = shutil.get_terminal_size().columns
            print(f"\r\033[K{line[: columns - 1]}", end="", flush=True)
            self._open = True
            return
        part = self.done * self.PARTS // self.total
        if self.total <= self.EACH or part > self._part:
            print(line, flush=True)
            self._part = part

    def say(self, text: str) -> None:
        """Print a text on a separate line."""
        self.close()
        print(text, flush=True)

    def close(self) -> None:
        """End the line that is overwritten."""
        if self._open:
            print("\r\033[K", end="", flush=True)
            self._open = False


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder: a second build in it waits."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            print("waiting for another build in this folder", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run(steps: Sequence[Step], root: Path) -> int:
    """Make stale targets, and return the number of steps that ran.

    Commands run in ``root``, and paths are relative to it.  A step waits for the steps that make
    its inputs.  After the first failure the build stops when the running steps have ended; with
    CUPOLA_BUILD_KEEP_GOING=1, when all independent targets are made.
    """
    keep_going = os.environ.get("CUPOLA_BUILD_KEEP_GOING") == "1"
    schedule, timings, progress = Schedule(steps), Timings(), Progress()
    progress.total = sum(not step.quiet for step in steps)
    pending: dict[Future[None], Step] = {}
    failures: list[Error] = []
    with ThreadPoolExecutor(jobs()) as pool:
        while True:
            while len(pending) < jobs() and (keep_going or not failures):
                step = schedule.take()
                if step is None:
                    break
                if is_fresh(step, root):
                    schedule.made(step)
                else:
                    if not step.quiet:
                        progress.start(step.name)
                    pending[pool.submit(_make, step, root, progress, timings)] = step
                progress.done += not step.quiet
            if not pending:  # all is made, or the rest depends on a failed step
                break
            for future in wait(pending, return_when=FIRST_COMPLETED).done:
                step = pending.pop(future)
                try:
                    future.result()
                    schedule.made(step)
                except Error as error:
                    failures.append(error)
    progress.close()
    timings.report()
    if failures:
        # Two steps that compile one source fail with the same text.
        told = {str(failure).partition("\n")[0]: str(failure) for failure in reversed(failures)}
        raise BuildError("\n\n".join(reversed(told.values())))
    return len(timings)


def stale(steps: Sequence[Step], root: Path) -> list[Step]:
    """The steps that `run` would run, in a possible order; runs none."""
    schedule, found = Schedule(steps), []
    while (step := schedule.take()) is not None:
        if any(path == other.target for path in step.inputs for other in found) or not is_fresh(
            step, root
        ):
            found.append(step)
        schedule.made(step)
    return found


def is_fresh(step: Step, root: Path) -> bool:
    """Whether the target exists and was made by this command from the current files."""
    if not all((root / path).is_file() for path in (step.target, *step.extras)):
        return False
    try:
        record = json.loads((root / step.record).read_text())
        if record["key"] != step.identity(root):
            return False
        inputs, own = record["inputs"], {str(path) for path in step.inputs}
        # With a dependency file, inputs that the command no longer names change its identity.
        if not (own <= inputs.keys() if step.depfile is not None else own == inputs.keys()):
            return False
        return all(_same(root / path, stamp) for path, stamp in inputs.items())
    except (OSError, ValueError, TypeError, LookupError, AttributeError):
        return False  # no record, or one of another format


def _headers(root: Path, folder: Path) -> set[str]:
    """Headers in a folder and its subfolders, relative to the root. A new header may hide another
    one, or change __has_include.  In the root itself, subfolders are not searched.
    """
    inside = (root / folder).rglob("*") if folder.parts else root.glob("*")
    return {
        path.relative_to(root).as_posix()
        for path in inside
        if path.suffix in HEADERS and not path.name.startswith(".")  # editors' temporary files
    }


def _stamp(path: Path) -> list[int | str] | None:
    """Time, size and content hash of a file; None if it does not exist."""
    try:
        found = path.stat()
        return [found.st_mtime_ns, found.st_size, _digest(path, found.st_mtime_ns, found.st_size)]
    except OSError:
        return None


def _same(path: Path, stamp: list[int | str] | None) -> bool:
    """Whether a file is unchanged: by its time if equal, else by its content.

    A checkout or an unpacked archive gives new times to old files.
    """
    if stamp is None:
        return False
    time_then, size_then, digest_then = stamp
    try:
        found = path.stat()
        if found.st_size != size_then:
            return False
        return found.st_mtime_ns == time_then or digest_then == _digest(
            path, found.st_mtime_ns, found.st_size
        )
    except OSError:
        return False


@cache
def _digest(path: Path, modified: int, size: int) -> str:
    del modified, size  # only the cache uses them
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _make(step: Step, root: Path, progress: Progress, timings: Timings) -> None:
    for folder in (step.target.parent, *step.folders):
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / step.record).unlink(missing_ok=True)
    began, start = time.time_ns(), time.monotonic()
    inputs = {str(path): _stamp(root / path) for path in step.inputs}
    for path, stamp in inputs.items():
        if stamp is None:
            raise BuildError(f"{step.name}: there is no {path}")
    identity = step.identity(root)
    processor = _act(step) if step.action is not None else _execute(step, root, progress)
    timings.add(step.name, str(step.target.parent), processor, time.monotonic() - start)
    if step.depfile is not None:
        for path in read_files(step, root):
            # A file that changed during the step counts as unknown, so the step runs again later.
            if path not in inputs:
                still = compile_cache.unchanged(root / path, began)
                inputs[path] = _stamp(root / path) if still else None
    record = {"key": identity, "inputs": inputs}
    (root / step.record).write_text(json.dumps(record))


def _act(step: Step) -> float:
    began = time.thread_time()
    assert step.action is not None
    others = step.action()  # a lambda may return any value
    return time.thread_time() - began + (others if isinstance(others, float) else 0)


def _execute(step: Step, root: Path, progress: Progress) -> float:
    """Run the command; returns the processor time of it and its children, in seconds."""
    began = time.time_ns()
    key = compile_cache.key(step, root) if step.cached else None
    said = compile_cache.fetch(key, step, root) if key is not None else None
    if said is not None:
        if said:
            progress.say(said)
        return 0.0
    try:
        process = subprocess.Popen(
            step.command,
            cwd=root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise BuildError(f"{step.name}: {step.command[0]} cannot be run: {error}") from error
    with process:
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        (root / step.target).unlink(missing_ok=True)
        raise BuildError(failure_text(step, output, process.returncode))
    if output.strip():
        progress.say(output.rstrip())
    if key is not None:
        compile_cache.keep(key, step, root, read_files(step, root), output.rstrip(), began)
    return usage.ru_utime + usage.ru_stime


def failure_text(step: Step, output: str, code: int) -> str:
    """File and line of the first error, the compiler's output, and the command."""
    first = re.search(r"^.*?[:(]\d+[:)].*\berror\b.*$", output, re.MULTILINE) or re.search(
        r"^\S+\.p(?:yx|xd):\d+:\d+: .*$", output, re.MULTILINE
    )  # Cython's errors lack the word "error"
    headline = first[0].strip() if first else f"{step.name}: exit status {code}"
    return f"{headline}\n\n{output.rstrip()}\n\nfailed: {shlex.join(step.command)}"


def read_files(step: Step, root: Path) -> list[str]:
    """The files in the dependency file, without those in the ignored folders."""
    assert step.depfile is not None
    found = []
    for path in dependencies(root / step.depfile):
        real = Path(os.path.realpath(root / path))
        if not any(real.is_relative_to(folder) for folder in step.ignored):
            found.append(path)
    return found
