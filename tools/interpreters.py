# tools/interpreters.py - find the Pythons that a release is built for.
"""Interpreters of this machine, by the tag of their wheels: ``interpreters.py`` lists them.

A name such as python3.12 is searched in the folders of PATH and in pyenv's versions. The first
that runs and has headers is taken.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

# Of a release, in the order of the report.
TAGS = ("cp310", "cp311", "cp312", "cp313", "cp313t", "cp314", "cp314t")
ASK = """
import json, os, sys, sysconfig
gil = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
header = os.path.join(sysconfig.get_path("include"), "Python.h")
name = "%s%d%d%s" % ("cp", *sys.version_info[:2], gil)
print(json.dumps([sys.implementation.name, name, os.path.isfile(header), sys.executable]))
"""


def version(tag: str) -> str:
    """3.13t of cp313t."""
    parts = re.fullmatch(r"cp(\d)(\d+)(t?)", tag)
    if parts is None:
        raise SystemExit(f"{tag}: expected a tag such as cp312 or cp313t")
    return f"{parts[1]}.{parts[2]}{parts[3]}"


def file_name(tag: str) -> str:
    """python3.13t of cp313t."""
    return f"python{version(tag)}"


def candidates(tag: str) -> Iterator[Path]:
    """Files that can be the interpreter of a tag."""
    name = file_name(tag)
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        yield Path(folder or ".", name)
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from sorted(pyenv.glob(f"versions/*/bin/{name}"), reverse=True)


def described(path: Path) -> tuple[str, Path] | None:
    """The tag and the file of an interpreter: CPython that runs and has headers."""
    if not os.access(path, os.X_OK):
        return None
    done = subprocess.run([path, "-c", ASK], capture_output=True, text=True)
    if done.returncode:  # one of pyenv's shims whose version is not chosen
        return None
    implementation, tag, headers, real = json.loads(done.stdout)
    return (tag, Path(real)) if implementation == "cpython" and headers else None


def executable(path: Path, tag: str) -> Path | None:
    """The interpreter behind a file, if it is of the tag."""
    have = described(path)
    return have[1] if have and have[0] == tag else None


def found(tags: Iterable[str] = TAGS) -> dict[str, Path]:
    """The interpreters that this machine has."""
    have = {}
    for tag in tags:
        real = (executable(path, tag) for path in candidates(tag))
        if one := next(filter(None, real), None):
            have[tag] = one
    return have


if __name__ == "__main__":
    have = found()
    for tag in TAGS:
        print(f"{tag:7} {have.get(tag, 'missing')}")
