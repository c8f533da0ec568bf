# package/cupola/build/executor.py - runs stale build steps, in parallel.
"""Execution of build steps."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

from ..exceptions import Error
from . import compile_cache
from .error import BuildError
from .freshness import is_fresh, stamp, write_record
from .progress import Progress
from .schedule import Schedule
from .step import Step, failure_text, read_files
from .timings import Timings


def jobs() -> int:
    """The number of parallel steps: CUPOLA_BUILD_JOBS, else this process's processors."""
    text = os.environ.get("CUPOLA_BUILD_JOBS", "")
    if not text:
        return max(1, len(os.sched_getaffinity(0)))
    if not re.fullmatch(r"[1-9]\d{0,3}", text):
        raise BuildError(f"CUPOLA_BUILD_JOBS={text}: expected a number, at least 1")
    return int(text)


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
            if not pending:  # all steps are done, or each remaining step depends on a failed step
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


def _make(step: Step, root: Path, progress: Progress, timings: Timings) -> None:
    for folder in (step.target.parent, *step.folders):
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / step.record).unlink(missing_ok=True)
    began, start = time.time_ns(), time.monotonic()
    inputs = {str(path): stamp(root / path) for path in step.inputs}
    for path, found in inputs.items():
        if found is None:
            raise BuildError(f"{step.name}: there is no {path}")
    identity = step.identity(root)
    processor = _act(step) if step.action is not None else _execute(step, root, progress)
    timings.add(step.name, str(step.target.parent), processor, time.monotonic() - start)
    if step.depfile is not None:
        for path in read_files(step, root):
            # A file that changed during the step counts as unknown, so the step runs again later.
            if path not in inputs:
                still = compile_cache.unchanged(root / path, began)
                inputs[path] = stamp(root / path) if still else None
    write_record(step, root, identity, inputs)


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
    output, code, seconds = process(step.command, root, step.name)
    if code:
        (root / step.target).unlink(missing_ok=True)
        raise BuildError(failure_text(step, output, code))
    if output.strip():
        progress.say(output.rstrip())
    if key is not None:
        compile_cache.keep(key, step, root, read_files(step, root), output.rstrip(), began)
    return seconds


def process(command: Sequence[str], root: Path, name: str) -> tuple[str, int, float]:
    """Run a command; returns its output, its exit status, and the processor time of it and its
    children, in seconds.
    """
    try:
        started = subprocess.Popen(
            command,
            cwd=root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise BuildError(f"{name}: {command[0]} cannot be run: {error}") from error
    with started:
        assert started.stdout is not None
        output = started.stdout.read()
        _, status, usage = os.wait4(started.pid, 0)
        started.returncode = os.waitstatus_to_exitcode(status)
    return output, started.returncode, usage.ru_utime + usage.ru_stime
