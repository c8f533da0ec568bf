"""Runs random programs on a driver, keeps digests of what they leave, and compares them.

    python -m ptx.fuzz record FILE.npz --programs 100000 --jobs 16
    python -m ptx.fuzz compare FILE.npz
    python -m ptx.fuzz keep FILE.npz recorded/DEVICE-programs.npz --count 500
    python -m ptx.fuzz minimise NUMBER corpus/NAME.ptx --other libcuda.so.1
    python -m ptx.fuzz show NUMBER

Run in the folder tests; CUPOLA_TEST_DRIVER names the driver's library, by default it is cupola's
CPU device, whose CUPOLA_CPU_MODE says how it runs kernels.
"""

import argparse
import concurrent.futures
import multiprocessing
import os
import pathlib
import sys
import time

import numpy as np

from .driver import Driver, DriverError
from .generate import batch, kept
from .generate import minimise as small
from .record_matrix import device_name

_driver = None


def work(first, count):
    """One module: (first program, checksum of the text, digests, columns, error)."""
    global _driver
    text, programs = batch.of_seeds(range(first, first + count))
    nothing = np.zeros(count, np.uint64), np.zeros((count, batch.COLUMNS), np.uint16)
    try:
        _driver = _driver or Driver()
        memory = batch.run(_driver, text, programs)
    except DriverError as error:
        if _driver:
            _driver.reset()
        return first, batch.checksum(text), *nothing, str(error)
    return first, batch.checksum(text), batch.digests(memory), batch.columns(memory), ""


def run(first, programs, size, jobs, seconds):
    """Results of all modules that were done in that time, in order."""
    begun, results = time.monotonic(), []
    starts = range(first, first + programs, size)
    context = multiprocessing.get_context("spawn")
    pool = concurrent.futures.ProcessPoolExecutor(jobs, mp_context=context)
    futures = [pool.submit(work, at, min(size, first + programs - at)) for at in starts]
    try:
        left = seconds - (time.monotonic() - begun)
        for future in concurrent.futures.as_completed(futures, timeout=left):
            results.append(future.result())
            if results[-1][-1]:
                print(f"module of program {results[-1][0]}: {results[-1][-1]}", flush=True)
    except concurrent.futures.TimeoutError:
        print(f"stopped after {seconds} s: {len(results)} of {len(futures)} modules", flush=True)
        for process in pool._processes.values():  # one of them may wait for ever
            process.kill()
    pool.shutdown(cancel_futures=True)
    return sorted(results, key=lambda r: r[0]), time.monotonic() - begun


def record(options):
    results, took = run(
        options.first, options.programs, options.batch, options.jobs, options.seconds
    )
    device = device_name(Driver())
    good = [r for r in results if not r[-1]]
    np.savez_compressed(
        options.file,
        device=device,
        size=options.batch,
        first=np.array([r[0] for r in good]),
        counts=np.array([len(r[2]) for r in good]),
        checksums=np.array([r[1] for r in good], np.uint32),
        digests=np.concatenate([r[2] for r in good]),
        columns=np.concatenate([r[3] for r in good]),
    )
    done = sum(len(r[2]) for r in good)
    print(f"{device}: {done} programs in {took:.1f} s, {len(results) - len(good)} modules failed")
    return done != options.programs


def compare(options):
    """Runs the same programs here."""
    with np.load(options.file) as file:
        there = {name: file[name] for name in file}
    counts, size = there["counts"], int(there["size"])
    at = np.concatenate([[0], np.cumsum(counts)])
    places = {int(f): i for i, f in enumerate(there["first"])}
    first = options.first if options.first is not None else min(places)
    programs = options.programs or max(places) + size - first
    results, took = run(first, programs, size, options.jobs, options.seconds)
    compared, differing = 0, []
    for begin, checksum, digests, columns, error in results:
        i = places.get(begin)
        if i is None:
            continue
        if error:
            differing.append((begin, "the module", error.splitlines()[0]))
            continue
        if checksum != there["checksums"][i]:
            sys.exit(f"module of program {begin} has another text than when it was recorded")
        part = slice(at[i], at[i + 1])
        compared += len(digests)
        for k in np.flatnonzero(digests != there["digests"][part]):
            where = np.flatnonzero(columns[k] != there["columns"][part][k])
            differing.append((begin + int(k), "words", where.tolist()))
    for line in differing:
        print(*line)
    mode = os.environ.get("CUPOLA_CPU_MODE", "")
    print(
        f"{compared} programs of {there['device']} and of {device_name(Driver())} {mode}: "
        f"{len(differing)} differ ({took:.1f} s here)"
    )
    return bool(differing) or compared != programs


def keep(options):
    """Of a record, a part that stays in the tree, text and all."""
    with np.load(options.file) as data:
        kept.keep({name: data[name] for name in data}, options.count, options.into)


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
        if function is record:
            command.add_argument("--batch", type=int, default=50, help="programs a module")
    command = commands.add_parser("keep")
    command.set_defaults(run=keep)
    command.add_argument("file")
    command.add_argument("into")
    command.add_argument("--count", type=int, default=500)
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
