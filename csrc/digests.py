# csrc/digests.py - digests of the kernels' sources, by which tables of measurements know the code.
"""Writes ``lib/digests.json``: a digest of each kernel's source with the headers that it includes.

A digest stays the same where only comments, empty lines or indentation change, and is the same on
each machine. Of the header of constants, those count that have the name of the source's kernels,
such as ``sort_digits`` for ``sort_rows.cu``.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

CONSTANTS = "constants.h"
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)


def text(root: Path, sources: list[Path]) -> str:
    """The digests by the sources' paths below csrc.

    Parameters
    ----------
    root : Path
        The folder of ``csrc``.
    sources : list of Path
        The ``.cu`` files, relative to `root`.
    """
    found = {path.relative_to("csrc").as_posix(): digest(root / path) for path in sources}
    return json.dumps(found, indent=1, sort_keys=True) + "\n"


def digest(source: Path) -> str:
    """The SHA-256 of a source with what it includes."""
    state = hashlib.sha256()
    for path in included(source):
        lines = code(path.read_text())
        if path.name == CONSTANTS:
            prefix = source.stem.partition("_")[0]
            lines = [one for one in lines if re.search(rf"\b{prefix}_\w+ =", one)]
        state.update(("\n".join(lines) + "\0").encode())
    return state.hexdigest()


def code(source: str) -> list[str]:
    """The lines of a source without comments, indentation and empty lines."""
    lines = (re.sub(r"\s+", " ", line).strip() for line in COMMENT.sub("", source).splitlines())
    return [line for line in lines if line]


def included(source: Path) -> list[Path]:
    """The source and the headers beside the kernels that it includes, each once."""
    found: list[Path] = []
    wanted = [source]
    while wanted:
        path = wanted.pop(0)
        if path in found:
            continue
        found.append(path)
        for name in INCLUDE.findall(path.read_text()):
            folders = (path.parent, source.parent, source.parent.parent / "array")
            header = next((one for one in folders if (one / name).is_file()), None)
            if header is None:
                raise ValueError(f"{path}: there is no {name} beside the kernels")
            wanted.append((header / name).resolve())
    return found
