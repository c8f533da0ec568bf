"""Records what a GPU leaves in the tests of PTX, for recording.py.

    CUPOLA_TEST_DRIVER=libcuda.so.1 python -m ptx.record FILE.npz [--jobs N] [TEST_FILE...]
    python -m ptx.record FILE.npz --forget TEST...

Run in the folder tests. Each test runs twice, in different processes: what is not the same both
times is left out, and named. A test whose PTX was changed is forgotten until it can be recorded.
"""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

from . import recording

# These have recordings of their own, run compilers, are of the CPU device alone, or of another
# version on hardware.
OTHERS = {
    "test_fuzz", "test_libdevice", "test_manual", "test_matrix_code", "test_matrix_recorded",
    "test_native", "test_native_compiler", "test_outside", "test_recording", "test_texture_bits",
    "test_nvrtc", "test_toolkit", "test_toolkit_copies", "test_triton",
}  # fmt: skip


def run(test, part):
    """The output of the tests of a file, whose entries go into a part."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(test)]
    environment = {**os.environ, "CUPOLA_TEST_RECORD": str(part)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    return f"{test.name}: " + "".join(done.stdout.splitlines(keepends=True)[-12:]) + done.stderr


def record(tests, folder, jobs):
    """(the device's name, entries, names of tests that were not the same twice)"""
    parts = {(t, n): folder / f"{t.stem}-{n}.npz" for n in range(2) for t in tests}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for text in pool.map(lambda key: run(key[0], parts[key]), parts):
            print(text, flush=True)
    entries, again, device = {}, {}, ""
    for (_, n), part in parts.items():
        if part.exists():
            device, found = recording.load(part)
            (again if n else entries).update(found)
    kept = {n: e for n, e in entries.items() if again.get(n) == e}
    return device, kept, sorted((entries.keys() | again.keys()) - kept.keys())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("tests", nargs="*", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--forget", nargs="+", default=[])
    options = parser.parse_intermixed_args()
    if options.forget:
        device, entries = recording.load(options.file)
        kept = {n: e for n, e in entries.items() if n not in options.forget}
        print(f"{len(entries) - len(kept)} forgotten, {len(kept)} kept")
        recording.save(options.file, device, kept)
        return
    tests = options.tests or [
        t for t in sorted(recording.HERE.glob("test_*.py")) if t.stem not in OTHERS
    ]
    with tempfile.TemporaryDirectory() as folder:
        device, entries, changing = record(tests, pathlib.Path(folder), options.jobs)
    print(f"{len(entries)} tests on {device}; not the same twice: {changing}")
    if options.file.exists():  # of other tests
        before, kept = recording.load(options.file)
        if before != device:
            sys.exit(f"{options.file} is of {before}")
        again = tuple(f"{t.name}::" for t in tests)
        entries.update((n, e) for n, e in kept.items() if not n.startswith(again))
    recording.save(options.file, device, entries)


if __name__ == "__main__":
    main()
