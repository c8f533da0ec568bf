# tools/pycuda_suite.py - PyCUDA's own tests, run against cupola.pycuda.
"""Runs the tests of PyCUDA's source distribution against cupola.pycuda: a table of what passes.

python tools/pycuda_suite.py [FOLDER] [--out FOLDER]

PyCUDA's source distribution is downloaded to FOLDER (build/pycuda-suite), with the packages that
its tests import; cupola has none of them. The tests run as they are, by `cupola run --pycuda`, on
the driver that cupola chooses. The record names each test that does not pass, with the reason.
"""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "benchmarks"))
records = importlib.import_module("records")

TITLE = "PyCUDA's own tests against cupola.pycuda."
COMMAND = "python tools/pycuda_suite.py"
VERSION = "2026.1"
FILES = ("test_driver.py", "test_gpuarray.py", "test_cumath.py")
PACKAGES = ("pytools",)
SECONDS = 3600
# Why a test cannot run, by the words of its skip.
SKIPS = {
    "e references were removed": "PyCUDA skips tests of texture and surface references on "
    "drivers of CUDA 12 and newer, whose compilers refuse them",
    "curand not installed": "cupola has generators of its own and no cuRAND: "
    "get_curand_version() is None, and Sobol generators are absent",
    "pycuda/issues/163": "PyCUDA skips it: a defect of its own",
    "Need at least": "the device has less memory",
}
EXPECTED = "PyCUDA expects that it fails"
# GiB of the host's memory that tests of large arrays need beside the device's.
LARGE = {
    "test_big_array_elementwise": 32,
    "test_big_array_scan": 32,
    "test_big_array_reduction": 16,
}


def download(folder: Path) -> Path:
    """The folder of PyCUDA's tests."""
    source = folder / f"pycuda-{VERSION}"
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    if not source.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        # Without isolation, pip builds nothing to read the metadata.
        wanted = ["--no-binary", "pycuda", "--no-deps", "--no-build-isolation"]
        wanted += ["--dest", str(folder), f"pycuda=={VERSION}"]
        subprocess.run([*pip, "download", *wanted], check=True)
        (archive,) = folder.glob(f"pycuda-{VERSION}.tar.gz")
        with tarfile.open(archive) as file:
            file.extractall(folder, filter="data")
    packages = folder / "packages"
    if not packages.is_dir():
        subprocess.run([*pip, "install", "--target", packages, *PACKAGES], check=True)
    return source / "test"


def memory() -> float:
    """GiB that are free on the host."""
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30


def run(tests: Path, folder: Path, left_out: list[str]) -> Path:
    """Run the tests; the file with their results."""
    result = folder / "result.xml"
    result.unlink(missing_ok=True)
    packages = [str(folder / "packages"), *filter(None, [os.environ.get("PYTHONPATH")])]
    command = [sys.executable, "-m", "cupola", "run", "--pycuda", "--", "-m", "pytest", "-q"]
    # Ignores the settings of this tree, which may be above the tests.
    command += ["-c", os.devnull, "-p", "no:cacheprovider", "-W", "ignore", f"--rootdir={tests}"]
    command += [f"--junitxml={result}", *(str(tests / name) for name in FILES)]
    command += ["-k", " and ".join(f"not {name}" for name in left_out)] if left_out else []
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(packages)}
    subprocess.run(command, env=environment, cwd=folder, timeout=SECONDS, check=False)
    if not result.is_file():
        raise SystemExit("pytest ended without a result: see its output above")
    return result


def judge(case: ElementTree.Element) -> tuple[str, str]:
    """ "passed", "failed", "skipped" or "expected", and the reason."""
    for tag in ("failure", "error"):
        found = case.find(tag)
        if found is not None:
            said = found.attrib.get("message", "").splitlines() or [""]
            return "failed", f"unknown: {said[0][:100]}"
    found = case.find("skipped")
    if found is None:
        return "passed", ""
    said = found.attrib.get("message", "")
    if found.attrib.get("type") == "pytest.xfail":
        return "expected", EXPECTED
    known = [reason for words, reason in SKIPS.items() if words in said]
    return "skipped", known[0] if known else f"unknown: {said[:100]}"


def rows_of(result: Path, left_out: list[str]) -> list[records.Row]:
    """A row for the share that passes, and one for each test that does not pass."""
    rows, counts = [], dict.fromkeys(("passed", "failed", "skipped", "expected"), 0)
    for case in ElementTree.parse(result).getroot().iter("testcase"):
        status, reason = judge(case)
        counts[status] += 1
        if status != "passed":
            name = f"{case.attrib['classname'].rpartition('.')[2]}::{case.attrib['name']}"
            seconds = round(float(case.attrib["time"]), 2)
            rows.append(records.Row(name, seconds, "s", note=f"{status}: {reason}"))
    for name in left_out:
        note = f"left out: needs {LARGE[name]} GiB of free memory on the host"
        rows.append(records.Row(name, 0, "s", note=note))
    tried = counts["passed"] + counts["failed"]
    share = records.Row(
        "share of tests that pass",
        round(counts["passed"] / tried, 4) if tried else 0,
        "of 1",
        goal="value >= 0.95",
        note=f"{counts['passed']} pass, {counts['failed']} fail, {counts['skipped']} are skipped, "
        f"{counts['expected']} fail as PyCUDA expects, {len(left_out)} are left out",
    )
    return [share, *rows]


def main() -> int:
    """0 where each test that does not pass has a known reason."""
    parser: argparse.ArgumentParser = records.parser(__doc__)
    parser.add_argument(
        "folder", type=Path, nargs="?", default=ROOT / "build/pycuda-suite", help="for downloads"
    )
    options = parser.parse_args()
    folder = options.folder.resolve()
    free = memory()
    left_out = [name for name, needed in LARGE.items() if free < needed]
    rows = rows_of(run(download(folder), folder, left_out), left_out)
    sys.argv[1:] = []  # folders of this machine, which the record does not name
    more = {"command": COMMAND, "extra": {"PyCUDA": VERSION}}
    records.publish(options.out, __file__, TITLE, rows, **more)
    return int(any("unknown: " in (row.note or "") for row in rows))


if __name__ == "__main__":
    sys.exit(main())
