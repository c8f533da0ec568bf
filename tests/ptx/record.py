"""Records what a GPU leaves in the tests of PTX, for recording.py.

    CUPOLA_TEST_DRIVER=libcuda.so.1 python -m ptx.record FOLDER [--jobs N] [TEST_FILE...]

Run in the folder tests, on a machine with a GPU, NumPy and pytest (cupola is not needed). Writes
FOLDER/tests.npz, and what the kept random programs leave: programs.npz and small-programs.npz. They
belong into ptx/recorded. Each test runs twice, in different processes: what is not the same both
times is left out, and named. With TEST_FILEs these alone are recorded, and added to what is there.
"""

import argparse
import concurrent.futures
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile

from . import recording, unrecorded
from .driver import Driver

SECONDS = 480  # for one process


def ran(command, **more):
    """(exit status, output) of a process."""
    environment = {**os.environ, "CUDA_CACHE_DISABLE": "1", **more}
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired as late:
        return 124, f"{late}\n{late.stdout}"
    return done.returncode, done.stdout + done.stderr


def run(tests, slice_of, part):
    """A slice of the tests, whose bits go into a part."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        f"--slice={slice_of}",
    ]
    return ran([*command, *map(str, tests)], CUPOLA_TEST_RECORD=str(part))


def run_programs(file, into):
    """The kept random programs of a file once more."""
    command = [sys.executable, "-m", "ptx.fuzz", "again", str(file), str(into / file.name)]
    status, text = ran(command)
    print(text, end="", flush=True)
    return status


def record(tests, folder, jobs):
    """(bits of tests that are the same twice, names of those that are not, of how many failed)"""
    keys = [(n, again) for again in range(2) for n in range(jobs)]
    found, failed = ({}, {}), 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        parts = [folder / f"{n}-{again}" for n, again in keys]
        slices = [f"{n}/{jobs}" for n, _ in keys]
        for (_, again), part, (status, text) in zip(
            keys, parts, pool.map(run, [tests] * len(keys), slices, parts), strict=True
        ):
            print("".join(text.splitlines(keepends=True)[-4:]), end="", flush=True)
            if status:
                failed += 1
                print(text)
            if part.exists():
                found[again].update(pickle.loads(part.read_bytes()))
    first, second = found
    kept = {n: b for n, b in first.items() if second.get(n) == b}
    return kept, sorted((first.keys() | second.keys()) - kept.keys()), failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("tests", nargs="*", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    driver, before = Driver(), recording.recorded()
    everything = recording.Bits(device=driver.name(), driver=driver.version())
    programs = sorted(recording.FILE.parent.glob("*programs.npz"))
    tests = options.tests
    if tests:
        if before.device != everything.device:
            sys.exit(f"{recording.FILE.name} is of {before.device}: record all tests")
        if before.driver != everything.driver:
            everything.driver = f"{before.driver}, in part {everything.driver}"
        everything.update(before)
        programs = []
    else:
        every = sorted(recording.HERE.glob("test_*.py"))
        tests = [t for t in every if not unrecorded.never(t.name)]
    options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        statuses = pool.map(run_programs, programs, [options.folder] * len(programs))
        kept, changing, failed = record(tests, pathlib.Path(folder), options.jobs)
        failed += sum(map(bool, statuses))
    clashes = [f"{name}: {keys}" for name in kept if (keys := everything.update(kept[name]))]
    recording.save(options.folder / recording.FILE.name, everything)
    print(
        f"{sum(len(b.left) for b in kept.values())} arrays of {len(kept)} tests on "
        f"{everything.device}, driver {everything.driver}; {failed} processes with failures"
    )
    print(f"not the same twice: {changing}\nsame work, other bits: {clashes}")
    return bool(failed or clashes)


if __name__ == "__main__":
    sys.exit(main())
