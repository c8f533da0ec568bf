# tools/pythons.py - build cupola and test it with each Python of this machine; `make pythons`.
"""``pythons.py [PYTHON...]``: a build and a set of tests for each interpreter.

A PYTHON is a version such as "3.12" or "3.14t" (without the GIL), or a path. By default they are
all versions that cupola supports, and the tool names those that this machine lacks. Interpreters
are searched on PATH and in ~/.pyenv/versions. Each has an environment in build/pythons. The
libraries of C++ are built once, since they do not depend on Python.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import interpreters

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "pythons"
VERSIONS = tuple(map(interpreters.version, interpreters.TAGS))
PACKAGES = ("pytest>=8", "hypothesis", "ml_dtypes")
# Of each part that has compiled modules, the tests of its calls and of its errors.
TESTS = (
    "import",
    "launch",
    "fixed_launch",
    "arguments",
    "kernel",
    "module",
    "array",
    "memory",
    "stream",
    "event",
    "graph",
    "graph_threads",
    "dlpack",
    "elementwise",
    "texture",
    "callback",
    "garbage",
    "pickle",
    "pipeline",
    "op_native",
    "op_eager",
    "family",
    "threads",
    "free_threading",
)


class Failed(Exception):
    """A command failed; the text is its output."""


def tag_of(version: str) -> str:
    """cp313t of 3.13t."""
    return f"cp{version.replace('.', '')}"


def find(word: str) -> tuple[str, Path] | None:
    """Version and path of the interpreter that a version or a path names."""
    if os.sep not in word:
        path = interpreters.found([tag_of(word)]).get(tag_of(word))
        return (word, path) if path else None
    found = interpreters.described(Path(word))
    if found is None:
        raise SystemExit(f"pythons: {word} is no CPython with headers: name an interpreter")
    return interpreters.version(found[0]), found[1]


def run(*command: str | Path, log: Path, **environment: str) -> None:
    """Run a command in the tree; its output goes to the log."""
    with log.open("a") as output:
        print("+", *command, file=output, flush=True)
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, **environment},
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode:
        raise Failed(f"failed: {' '.join(map(str, command))}, see {log}")


def lines(*command: str | Path) -> list[str]:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.split()


def environment(version: str, python: Path, log: Path) -> Path:
    """The Python of the version's environment, with what the build and the tests need."""
    folder = FOLDER / version
    inside, ready = folder / "bin" / "python", folder / "ready"
    wanted = [
        *PACKAGES,
        *lines(sys.executable, "tools/requirements.py", "build-system", "dependencies"),
    ]
    text = "\n".join([str(python), *wanted])
    if not ready.exists() or ready.read_text() != text:
        shutil.rmtree(folder, ignore_errors=True)
        run(python, "-m", "venv", folder, log=log)
        # Some projects have no wheels for each Python in their newest release.
        pip = (inside, "-m", "pip", "install", "--quiet", "--no-compile", "--prefer-binary")
        run(*pip, *wanted, log=log)
        nvcc = lines(inside, "package/cupola/build/backend.py")
        if nvcc:
            run(*pip, *nvcc, log=log)
        ready.write_text(text)
    return inside


def check(version: str, python: Path, options: list[str]) -> str:
    """Build and test; returns the last line of the tests."""
    log = FOLDER / f"{version}.log"
    FOLDER.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    inside = environment(version, python, log)
    run(inside, "setup.py", "--quiet", "build_ext", "--inplace", log=log)
    tests = [f"tests/test_{name}.py" for name in TESTS]
    with tempfile.TemporaryDirectory(prefix="cupola-pythons-") as folder:
        run(
            inside,
            *("-m", "pytest", "-q", "-p", "no:cacheprovider"),
            *(options or tests),
            log=log,
            PYTHONPATH=str(ROOT / "package"),
            PYTHONDONTWRITEBYTECODE="1",
            CUPOLA_CACHE_DIR=folder,
        )
    return log.read_text().rstrip().rpartition("\n")[2]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pythons", nargs="*", metavar="PYTHON", help="a version or a path")
    parser.add_argument("--pytest", nargs=argparse.REMAINDER, help="arguments for pytest instead")
    options = parser.parse_args()
    failed = 0
    missing = []
    for word in options.pythons or VERSIONS:
        found = find(word)
        if found is None:
            missing.append(word)
            continue
        try:
            outcome = check(*found, options.pytest or [])
        except Failed as error:
            outcome, failed = str(error), failed + 1
        print(f"{found[0]} ({found[1]}): {outcome}", flush=True)
    if missing:
        print(f"not on this machine: {', '.join(missing)}")
    if options.pythons and missing:
        return 1
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
