# tools/rehearsal.py - use the wheels of a release as a user does, from a local index.
"""``rehearsal.py DIST [PYTHON ...]``: install each wheel by its name into an empty environment.

An environment then runs README's first program, `cupola new` with the commands that it prints, and
a program that loads the drop-in driver. The packages that these need are downloaded once for each
Python. After that pip has no index but the two folders.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import interpreters
from requirements import arrays

ROOT = Path(__file__).resolve().parent.parent
# Variables of this environment that would lead a program to this checkout.
FOREIGN = ("CUPOLA_", "PYTHON", "VIRTUAL_ENV", "PIP_")
DROP_IN = """
import ctypes

driver = ctypes.CDLL("libcuda.so.1")
assert driver.cuInit(0) == 0
count, name = ctypes.c_int(), ctypes.create_string_buffer(100)
assert driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value == 1
assert driver.cuDeviceGetName(name, 100, 0) == 0
assert name.value.startswith(b"cupola CPU device"), name.value
print("the drop-in driver has", name.value.decode())
"""


def run(command: list[str], folder: Path, environment: Mapping[str, str]) -> str:
    """A command's output; ends with all of it where the command fails."""
    done = subprocess.run(
        command, cwd=folder, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{done.stdout[-6000:]}\nfailed: {' '.join(map(str, command))}")
    return done.stdout


def first_program(readme: str) -> str:
    """The first program in Python of a document."""
    found = re.search(r"^```python\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    if found is None:
        raise SystemExit("README.md has no program in Python: the rehearsal runs the first one")
    return found[1]


def toolkit_requirements() -> list[str]:
    """The compiler, where this machine has none."""
    command = [sys.executable, str(ROOT / "package" / "cupola" / "build" / "backend.py")]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def requirements() -> list[str]:
    """The packages beside cupola: its own requirements, and those of `cupola new`."""
    project = arrays((ROOT / "pyproject.toml").read_text())
    return [*project["dependencies"], *project["requires"], "pytest", *toolkit_requirements()]


def index(python: Path, work: Path) -> Path:
    """The folder with the packages that this Python needs."""
    folder = work / "index" / python.name
    folder.mkdir(parents=True, exist_ok=True)
    wanted = "\n".join(requirements())
    mark = folder / "requirements.txt"
    if not mark.is_file() or mark.read_text() != wanted:
        environment = work / "download" / python.name
        run([str(python), "-m", "venv", "--clear", str(environment)], work, os.environ)
        pip = [str(environment / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
        run([*pip, "download", "--quiet", "--dest", str(folder), *requirements()], work, os.environ)
        mark.write_text(wanted)
    return folder


def environment_of(folder: Path, links: list[Path]) -> dict[str, str]:
    """Variables of a user who has no network, and finds packages in `links`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    return {
        **kept,
        "PATH": f"{folder / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": " ".join(path.resolve().as_uri() for path in links),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_COMPILE": "1",
        "PIP_CONFIG_FILE": os.devnull,
        "CUPOLA_DRIVER": "cpu",
        "CUPOLA_ARCHITECTURES": "75",
        "CUPOLA_CACHE_DIR": str(folder / "cache"),
    }


def rehearse(python: Path, dist: Path, version: str, work: Path) -> list[str]:
    """Install the artifacts for one Python and use them; returns a line for each program."""
    packages = index(python, work)
    folder = work / "rehearsal" / python.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    run([str(python), "-m", "venv", str(folder / "venv")], folder, os.environ)
    environment = environment_of(folder, [dist, packages])
    run(["python", "-m", "pip", "install", "--quiet", f"cupola=={version}"], folder, environment)
    (folder / "first.py").write_text(first_program((ROOT / "README.md").read_text()))
    printed = run(["python", "first.py"], folder, environment).splitlines()
    told = [f"README's first program printed {len(printed)} lines"]
    new = run(["python", "-m", "cupola", "new", "soft-sign"], folder, environment)
    commands = new.partition("\n\n")[2]
    tested = run(["bash", "-e", "-c", commands], folder, environment)
    told.append("cupola new: " + re.findall(r"\d+ passed.*", tested)[-1].strip(" ="))
    (folder / "drop_in.py").write_text(DROP_IN)
    script = "source <(python -m cupola env) && python drop_in.py"
    told.append(run(["bash", "-e", "-c", script], folder, environment).strip())
    return told


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dist", type=Path, help="the folder of the artifacts")
    parser.add_argument("--version", required=True, help="the version of cupola to install")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("tags", nargs="*", help="Pythons, as cp312; all that are found by default")
    options = parser.parse_intermixed_args()
    for tag, python in interpreters.found(options.tags or interpreters.TAGS).items():
        for line in rehearse(python, options.dist, options.version, options.work):
            print(f"{tag}: {line}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
