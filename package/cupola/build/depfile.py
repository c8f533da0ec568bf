# package/cupola/build/depfile.py - reads and writes dependency files in make's format.
"""Dependency files, which list the files that a compiler read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from .error import BuildError

# Compilers write "\ " for a space, "\#" for # and "$$" for $ in a name; any other \ is itself.
_NAME = re.compile(r"(?:\\[ #]|\S)+")
_WRITTEN = re.compile(r"\\([ #])|\$(\$)")


def dependencies(depfile: Path) -> list[str]:
    """The files after the colon of a rule in make's format."""
    try:
        text = depfile.read_text(errors="surrogateescape")
    except OSError as error:
        raise BuildError(f"no dependency file: {error}") from error
    rule, _, _ = text.replace("\\\n", " ").partition("\n")
    _, _, files = rule.partition(": ")
    return [_WRITTEN.sub(r"\1\2", name) for name in _NAME.findall(files)]


def write_rule(depfile: Path, target: object, files: Iterable[object]) -> None:
    """Write what `dependencies` reads."""
    made, *names = (
        re.sub(r"([ #])", r"\\\1", str(path).replace("$", "$$")) for path in (target, *files)
    )
    depfile.write_text(f"{made}: {' '.join(names)}\n", errors="surrogateescape")
