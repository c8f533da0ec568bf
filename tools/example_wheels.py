# tools/example_wheels.py - the wheels of the examples' operations, under each set of frameworks.
"""Failed tests of the examples' wheels, built once, with each version of the frameworks

python tools/example_wheels.py [--out FOLDER] [PYTHON...]

Builds the wheels of examples/heat and examples/norm, unpacks them, and runs the examples' tests
with each PYTHON, an interpreter of an environment with pytest, NumPy and frameworks. By default
that is this one. The wheels are the same files for all. They are built for this machine's GPU, or
as PTX, unless CUPOLA_ARCHITECTURES names others: wheels for all devices take minutes.

cupola is the one that this Python imports. The tests run on the driver that it chooses. A row
counts the failed tests of one package. Its note has the tests that passed for each framework, and
those that were skipped. The exit status is 1 where a test failed.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "benchmarks"), str(ROOT / "tests")]
records = importlib.import_module("records")
hooks = importlib.import_module("hooks")

EXAMPLES = ("heat", "norm")
FRAMEWORKS = ("numpy", "torch", "jax", "cupy")
UNWANTED = ("build", "*.so", "*.cpp", "kernels.*", "ops.py*", "*.egg-info")
VERSIONS = f"""
import importlib.metadata, json, sys
found = {{}}
for name in {FRAMEWORKS!r}:
    for package in (name, f"{{name}}-cuda12x", f"{{name}}-cuda13x"):
        try:
            found[name] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pass
print(json.dumps([sys.implementation.cache_tag, found]))
"""


def build(folder: Path) -> list[Path]:
    """The wheels, each built from a copy of its example."""
    hooks.install(folder / "hooks")
    gpu = importlib.import_module("cupola").driver.info().kind == "cuda"
    environment = {
        "CUPOLA_ARCHITECTURES": "native" if gpu else "75",
        **os.environ,
        "PYTHONPATH": hooks.search_path(folder / "hooks"),
    }
    for name in EXAMPLES:
        source = folder / "source" / name
        shutil.copytree(ROOT / "examples" / name, source, ignore=shutil.ignore_patterns(*UNWANTED))
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-build-isolation"]
        command += ["--no-deps", "--wheel-dir", str(folder / "wheels"), str(source)]
        subprocess.run(command, env=environment, check=True)
    return sorted((folder / "wheels").glob("*.whl"))


def versions(python: str) -> dict[str, str]:
    """The frameworks of an environment. It must be of this version of Python."""
    tag, found = json.loads(subprocess.check_output([python, "-c", VERSIONS], text=True))
    if tag != sys.implementation.cache_tag:
        raise SystemExit(
            f"{python} is {tag}, but the wheels are built for {sys.implementation.cache_tag}: "
            "make its environment with the same Python"
        )
    return dict(found)


def tested(python: str, name: str, folder: Path) -> Iterator[tuple[str, str, str]]:
    """Of each test its name, the result ("passed", "skipped", "failed"), and the reason."""
    report = folder / "report.xml"
    report.unlink(missing_ok=True)
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}"]
    tests = folder / "source" / name / "tests"
    environment = {**os.environ, "PYTHONPATH": hooks.search_path(folder / "site")}
    # Runs outside of the example's folder, whose package would hide that of the wheel.
    subprocess.run([*command, str(tests)], cwd=folder, env=environment, check=False)
    if not report.exists():
        raise SystemExit(f"{python}: the tests of {name} did not run")
    for case in ElementTree.parse(report).iter("testcase"):
        problem = next((one for one in case if one.tag in ("failure", "error", "skipped")), None)
        if problem is None:
            yield case.attrib["name"], "passed", ""
        else:
            result = "skipped" if problem.tag == "skipped" else "failed"
            yield case.attrib["name"], result, problem.attrib.get("message", "")


def framework_of(test: str) -> str:
    """The framework that a test is for, by its name; cupola's own arrays for the others."""
    found = re.match(rf"test_(?:the_operation_(?:of|under)_)?({'|'.join(FRAMEWORKS)})\b", test)
    return found[1] if found else "cupola"


def row(python: str, about: dict[str, str], name: str, folder: Path) -> records.Row:
    """How the tests of a package went with an environment."""
    passed: dict[str, int] = {}
    skipped: dict[str, str] = {}
    failed = []
    for test, result, reason in tested(python, name, folder):
        if result == "passed":
            passed[framework_of(test)] = passed.get(framework_of(test), 0) + 1
        elif result == "skipped":
            missing = re.match(r"could not import '([\w.]+)'", reason)
            why = f"no {missing[1]}" if missing else re.sub(r"\s+", " ", reason)
            skipped[framework_of(test)] = why
        else:
            failed.append(test)
    title = f"{name}: " + ", ".join(f"{key} {value}" for key, value in about.items())
    note = "passed: " + ", ".join(f"{key} {count}" for key, count in sorted(passed.items()))
    if skipped:
        note += "; skipped: " + ", ".join(f"{k} ({why})" for k, why in sorted(skipped.items()))
    if failed:
        note += f"; failed: {', '.join(failed)}"
    return records.Row(title, len(failed), "failed tests", goal="value <= 0", note=note)


def main() -> int:
    parser = records.parser(__doc__)
    parser.add_argument("pythons", nargs="*", metavar="PYTHON", default=[sys.executable])
    options = parser.parse_args()
    # A virtual environment's Python is a link, which must not be followed.
    environments = {os.path.abspath(python): versions(python) for python in options.pythons}
    with tempfile.TemporaryDirectory(prefix="cupola-wheels-") as name:
        folder = Path(name)
        wheels = build(folder)
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
        subprocess.run([*command, "--target", folder / "site", *wheels], check=True)
        rows = [
            row(python, about, example, folder)
            for python, about in environments.items()
            for example in EXAMPLES
        ]
        extra = {
            wheel.name: f"sha256 {hashlib.sha256(wheel.read_bytes()).hexdigest()[:16]}"
            for wheel in wheels
        }
    # Paths of environments say nothing elsewhere; the rows have their versions.
    sys.argv[1:] = [one for one in sys.argv[1:] if one not in options.pythons]
    records.publish(options.out, __file__, __doc__, rows, extra=extra)
    return 1 if any(one.value for one in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
