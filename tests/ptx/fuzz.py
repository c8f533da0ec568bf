"""Runs random programs on a driver, keeps digests of their results, and compares them. Usage::

    python -m ptx.fuzz record FILE.npz --programs 100000 --jobs 16
    python -m ptx.fuzz compare FILE.npz
    python -m ptx.fuzz keep FILE.npz recorded/programs.npz --count 500
    python -m ptx.fuzz collect FOLDER recorded/small-programs.npz
    python -m ptx.fuzz again recorded/programs.npz FILE.npz
    python -m ptx.fuzz minimise NUMBER FILE.ptx --other libcuda.so.1
    python -m ptx.fuzz show NUMBER

Run it in the folder tests. CUPOLA_TEST_DRIVER names the driver's library; the default is cupola's
CPU device, whose CUPOLA_CPU_MODE says how it runs kernels. On hardware, --assemble "ptxas
-arch=sm_90 -O0" is the fastest way, and it does not optimise. Optimisation miscompiles one program
of 250: one that reads registers as other types than they were computed as.
"""

import argparse
import faulthandler
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
from driver_abi import DriverError

from .driver import Driver
from .generate import batch, kept
from .generate import minimise as small

# Seconds after which a module counts as a failure. With compile, a compiler for the host runs, too.
PATIENCE = 3600 if os.environ.get("CUPOLA_CPU_MODE") == "compile" else 60


# For each program: its number, a checksum of its text, a digest of its result, and 16 bits for each
# word that a thread writes, which show the place of a difference.
RESULT = np.dtype(
    [("number", "u4"), ("text", "u4"), ("digest", "u8"), ("columns", "u2", (batch.COLUMNS,))]
)


def assembled(text, command):
    """Machine code: NVIDIA's driver compiles for one process at a time, its assembler for all."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = (
            pathlib.Path(folder, "programs.ptx"),
            pathlib.Path(folder, "programs.cubin"),
        )
        source.write_text(text)
        words = [*command.split(), os.fspath(source), "-o", os.fspath(target)]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            raise DriverError(command, done.returncode, done.stderr)
        return target.read_bytes()


def work(driver, first, count, command, expected):
    """Results of one module, and what programs left that gave others than expected; or an error."""
    text, programs = batch.of_seeds(range(first, first + count))
    try:
        memory = batch.run(driver, assembled(text, command) if command else text, programs)
    except DriverError as failure:
        driver.reset()
        return str(failure)
    results = np.zeros(count, RESULT)
    results["number"] = range(first, first + count)
    results["text"] = [batch.checksum(p.text()) for p in programs]
    results["digest"], results["columns"] = batch.digests(memory), batch.columns(memory)
    other = [] if expected is None else np.flatnonzero(results["digest"] != expected)
    return results, {first + int(k): memory[k] for k in other}


def serve(connection):
    """The loop of a worker process: runs modules, one by one."""
    faulthandler.enable()
    driver = Driver()
    while True:
        connection.send(work(driver, *connection.recv()))


class Worker:
    """A process with a driver of its own, since a driver may end it."""

    def __init__(self, patience):
        self.patience, self.task, self.process = patience, None, None

    def give(self, task):
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self.connection, far = context.Pipe()
            self.process = context.Process(target=serve, args=(far,), daemon=True)
            self.process.start()
            far.close()
        self.task, self.since = task, time.monotonic()
        self.connection.send(task)

    def take(self):
        """The result; None where there is none yet."""
        late = time.monotonic() - self.since > self.patience
        if not self.connection.poll() and self.process.is_alive() and not late:
            return None
        try:
            return self.connection.recv() if self.connection.poll() else self.end(late)
        except EOFError:
            return self.end(late)

    def end(self, late):
        self.process.kill()
        self.process.join()
        why = "took too long" if late else f"ended the process ({self.process.exitcode})"
        self.process = None
        return why


class Run:
    """Results of all programs that were done in that time, and those that failed with the error.
    A module that fails is tried again program by program.
    """

    def __init__(self, options, first, programs, expected=None):
        self.begun, self.results, self.failed, self.memory = time.monotonic(), [], {}, {}
        self.options, self.first, self.expected = options, first, expected
        size, end = options.batch, first + programs
        self.waiting = [(n, min(size, end - n)) for n in range(first, end, size)][::-1]
        workers = [Worker(options.patience) for _ in range(options.jobs)]
        while self.waiting or any(w.task for w in workers):
            if time.monotonic() - self.begun > options.seconds:
                print(f"stopped after {options.seconds} s", flush=True)
                break
            for worker in workers:
                self.turn(worker)
            busy = [w.connection for w in workers if w.task]
            multiprocessing.connection.wait(busy, timeout=1)
        for worker in workers:
            if worker.process:
                worker.process.kill()
        for number, error in sorted(self.failed.items()):
            print(f"program {number}: {error}", flush=True)
        self.results = np.concatenate([np.zeros(0, RESULT), *self.results])
        self.results.sort(order="number")
        self.took = time.monotonic() - self.begun

    def turn(self, worker):
        """Take the result that a worker has, and give the worker the next module."""
        if worker.task and (result := worker.take()) is not None:
            (at, count, *_), worker.task = worker.task, None
            if not isinstance(result, str):
                self.results.append(result[0])
                self.memory.update(result[1])
            elif count > 1:
                self.waiting += [(n, 1) for n in range(at, at + count)]
            else:
                self.failed[at] = result.strip()
        if not worker.task and self.waiting:
            at, count = self.waiting.pop()
            expected = self.expected
            if expected is not None:
                expected = expected[at - self.first : at - self.first + count]
            worker.give((at, count, self.options.assemble, expected))


def record(options):
    expected = None
    if options.beside:
        there = load(options.beside)[1]
        begin = np.searchsorted(there["number"], options.first)
        expected = there["digest"][begin : begin + options.programs]
        assert len(expected) == options.programs, "not all of these programs were recorded"
    run = Run(options, options.first, options.programs, expected)
    device = Driver().name()
    parts = {name: run.results[name] for name in RESULT.names}
    if options.beside:  # arrays of programs that differ from those of the other driver
        differing = sorted(run.memory)
        parts["differing"] = np.array(differing, np.uint32)
        parts["memory"] = np.array([run.memory[n] for n in differing[:500]], np.uint64)
        print(f"{len(differing)} differ from {options.beside}: {differing[:50]}")
    np.savez_compressed(options.file, device=device, **parts)
    print(f"{device}: {len(run.results)} programs in {run.took:.1f} s, {len(run.failed)} failed")
    return len(run.results) != options.programs


def load(file):
    """A recording: (device, results)."""
    with np.load(file) as data:
        results = np.zeros(len(data["number"]), RESULT)
        for name in RESULT.names:
            results[name] = data[name]
        return str(data["device"]), results


def compare(options):
    """Runs the same programs here."""
    device, there = load(options.file)
    first = options.first if options.first is not None else int(there["number"].min())
    programs = options.programs or int(there["number"].max()) + 1 - first
    run = Run(options, first, programs)
    here = run.results
    _, i, j = np.intersect1d(here["number"], there["number"], return_indices=True)
    here, there = here[i], there[j]
    if (other := here["number"][here["text"] != there["text"]]).size:
        sys.exit(f"programs {other[:5]}... have another text than when they were recorded")
    differing = np.flatnonzero(here["digest"] != there["digest"])
    for k in differing:
        words = np.flatnonzero(here["columns"][k] != there["columns"][k])
        print(f"program {here['number'][k]} differs in words {words.tolist()}")
    mode = os.environ.get("CUPOLA_CPU_MODE", "")
    print(
        f"{len(here)} programs of {device} and of {Driver().name()} {mode}: "
        f"{len(differing)} differ, {len(run.failed)} failed ({run.took:.1f} s here)"
    )
    return bool(len(differing) or run.failed or len(here) != programs)


def keep(options):
    """Of a record, a part that stays in the tree, text and all."""
    device, results = load(options.file)
    kept.keep(device, results[: options.count], options.into)


def collect(options):
    """Of a folder of programs that `minimise` made small, a file that stays in the tree."""
    kept.collect(sorted(pathlib.Path(options.file).glob("*.ptx")), options.into)


def again(options):
    """Runs the programs of a file that stays in the tree once more, on this driver."""
    driver = Driver()
    count = kept.again(driver, options.file, options.into)
    print(f"{pathlib.Path(options.file).name}: {count} programs on {driver.name()}")


def minimise(options):
    """A program that differs between the CPU device and another driver, or its other way of
    running kernels, as small as it can be.
    """
    other = {"CUPOLA_TEST_DRIVER": options.other}
    if options.other in ("interpret", "compile"):
        other = {"CUPOLA_CPU_MODE": options.other}
    found = small.minimised(options.number, ({}, other))
    if found is None:
        sys.exit(f"program {options.number} gives the same on both")
    program, (here, there) = found
    if isinstance(here, str) or isinstance(there, str):
        sys.exit(f"{program.text()}\n{here}\n{there}")
    at = np.flatnonzero(here != there)[0]
    values = f"was {here.flat[at]:#x}, on {options.other} {there.flat[at]:#x}"
    why = f"program {options.number}: word {at} {values}"
    digest = int(batch.digests(there)[0])
    kept.write_case(options.into, program, options.other, digest, why)
    print(options.into.read_text())


def show(options):
    print(batch.of_seeds([options.number])[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    for function in (record, compare):
        command = commands.add_parser(function.__name__)
        command.set_defaults(run=function)
        command.add_argument("file")
        command.add_argument("--first", type=int, default=0 if function is record else None)
        command.add_argument("--programs", type=int, default=1000 if function is record else None)
        command.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
        command.add_argument("--seconds", type=float, default=86400)
        command.add_argument("--batch", type=int, default=50, help="programs a module")
        command.add_argument("--patience", type=int, default=PATIENCE, help="seconds for a module")
        command.add_argument("--assemble", default="", help="by this, as in 'ptxas -arch=sm_90'")
        if function is record:
            command.add_argument("--beside", help="a record: keep what differs from it")
    command = commands.add_parser("keep")
    command.set_defaults(run=keep)
    command.add_argument("file")
    command.add_argument("into")
    command.add_argument("--count", type=int, default=500)
    for function in (collect, again):
        command = commands.add_parser(function.__name__)
        command.set_defaults(run=function)
        command.add_argument("file", help="a folder" if function is collect else None)
        command.add_argument("into")
    command = commands.add_parser("minimise")
    command.set_defaults(run=minimise)
    command.add_argument("number", type=int)
    command.add_argument("into", type=pathlib.Path)
    command.add_argument("--other", required=True, help="a library, or interpret or compile")
    command = commands.add_parser("show")
    command.set_defaults(run=show)
    command.add_argument("number", type=int)
    options = parser.parse_args()
    return options.run(options)


if __name__ == "__main__":
    sys.exit(main())
