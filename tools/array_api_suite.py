# tools/array_api_suite.py - the array API standard's own tests, run against cupola.array_api.
"""Runs data-apis/array-api-tests against cupola.array_api: the share that passes.

python tools/array_api_suite.py [FOLDER] [--out FOLDER]

The tests are cloned to FOLDER (build/array-api), with the packages that they import; cupola has
none of them. The record names each test that does not pass, with the reason.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "benchmarks"))
records = importlib.import_module("records")

TITLE = "The array API standard's own tests against cupola.array_api."
COMMAND = "python tools/array_api_suite.py"
SOURCE = "https://github.com/data-apis/array-api-tests"
REVISION = "55fcc60179efa2680ddd6cd926ddf17b83530e2b"
STANDARD = "2024.12"
PACKAGES = ("ndindex>=1.8",)
EXAMPLES = 20  # examples of each property
SECONDS = 3600
FACTORED = "cholesky|det|eigh|eigvalsh|inv|matrix_rank|pinv|qr|slogdet|solve|svd|svdvals"
# Why a test can't pass, by a pattern of its name.
FAILURES = {
    rf"(test_has_names\[linalg-|test_extension_func_signature\[linalg\.|^test_)({FACTORED})\b": "a "
    "function that needs a factorization, which cupola does not have",
    r"test_can_cast$": "the suite compares None with a data type, and NumPy calls None float64",
    r"(floor_divide|__i?floordiv__)\(": "NumPy's values: infinity // x is NaN, and -1 // infinity "
    "is -1",
}


def download(folder: Path) -> Path:
    """The folder of the tests."""
    source = folder / "suite"
    if not source.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "clone", "--quiet", SOURCE, str(source)], check=True)
        for command in (["checkout", "--quiet", REVISION], ["submodule", "update", "--init"]):
            subprocess.run(["git", "-C", str(source), *command], check=True)
    packages = folder / "packages"
    if not packages.is_dir():
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        wanted = ["--no-deps", "--target", str(packages), *PACKAGES]
        subprocess.run([*pip, "install", *wanted], check=True)
    return source


def has_transforms() -> bool:
    """Whether cuFFT computes on the current device."""
    import cupola

    try:
        cupola.fft.fft(cupola.ones(2))
    except cupola.Error:
        return False
    return True


def run(source: Path, folder: Path) -> Path:
    """Run the tests; the file with their results."""
    result = folder / "result.xml"
    result.unlink(missing_ok=True)
    packages = [str(folder / "packages"), *filter(None, [os.environ.get("PYTHONPATH")])]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore"]
    command += [f"--junitxml={result}", f"--max-examples={EXAMPLES}", "--hypothesis-seed=0"]
    command += ["array_api_tests", "--hypothesis-disable-deadline"]
    if not has_transforms():
        command += ["--disable-extension", "fft"]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(packages),
        "ARRAY_API_TESTS_MODULE": "cupola.array_api",
        "ARRAY_API_TESTS_VERSION": STANDARD,
    }
    subprocess.run(command, env=environment, cwd=source, timeout=SECONDS, check=False)
    if not result.is_file():
        raise SystemExit("pytest ended without a result: see its output above")
    return result


def judge(case: ElementTree.Element) -> tuple[str, str]:
    """ "passed", "failed" or "skipped", and the reason."""
    for tag in ("failure", "error"):
        found = case.find(tag)
        if found is not None:
            said = found.attrib.get("message", "").splitlines() or [""]
            name = case.attrib["name"]
            known = [reason for pattern, reason in FAILURES.items() if re.search(pattern, name)]
            return "failed", known[0] if known else f"unknown: {said[0][:100]}"
    found = case.find("skipped")
    return ("passed", "") if found is None else ("skipped", found.attrib.get("message", ""))


def rows_of(result: Path) -> list[records.Row]:
    """A row for the share that passes, and one for each test that fails."""
    rows, counts = [], dict.fromkeys(("passed", "failed", "skipped"), 0)
    for case in ElementTree.parse(result).getroot().iter("testcase"):
        status, reason = judge(case)
        counts[status] += 1
        if status == "failed":
            name = f"{case.attrib['classname'].rpartition('.')[2]}::{case.attrib['name']}"
            seconds = round(float(case.attrib["time"]), 2)
            rows.append(records.Row(name, seconds, "s", note=f"{status}: {reason}"))
    without = "" if has_transforms() else ", and transforms, since there is no cuFFT"
    tried = counts["passed"] + counts["failed"]
    share = records.Row(
        "share of tests that pass",
        round(counts["passed"] / tried, 4) if tried else 0,
        "of 1",
        goal="value >= 0.95",
        note=f"{counts['passed']} pass, {counts['failed']} fail; {counts['skipped']} are skipped "
        f"by the suite: data types that the standard lacks{without}",
    )
    return [share, *rows]


def main() -> int:
    """0 where each test that does not pass has a known reason."""
    parser: argparse.ArgumentParser = records.parser(__doc__)
    parser.add_argument(
        "folder", type=Path, nargs="?", default=ROOT / "build/array-api", help="for downloads"
    )
    options = parser.parse_args()
    folder = options.folder.resolve()
    rows = rows_of(run(download(folder), folder))
    sys.argv[1:] = []  # folders of this machine, which the record does not name
    more = {"command": COMMAND, "extra": {"array-api-tests": REVISION[:12], "standard": STANDARD}}
    records.publish(options.out, __file__, TITLE, rows, **more)
    return int(any("unknown: " in (row.note or "") for row in rows))


if __name__ == "__main__":
    sys.exit(main())
