# package/cupola/build/freshness.py - whether a step's target is up to date.
"""Records of made targets: the command and the content of each file that it read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from .step import Step

Stamp = list[int | str]  # time, size and content hash of a file


def is_fresh(step: Step, root: Path) -> bool:
    """Whether the target exists and was made by this command from the current files."""
    if not all((root / path).is_file() for path in (step.target, *step.extras)):
        return False
    try:
        record = json.loads((root / step.record).read_text())
        if record["key"] != step.identity(root):
            return False
        inputs, own = record["inputs"], {str(path) for path in step.inputs}
        # With a dependency file, inputs that the command no longer names change its identity.
        if not (own <= inputs.keys() if step.depfile is not None else own == inputs.keys()):
            return False
        return all(_is_unchanged(root / path, recorded) for path, recorded in inputs.items())
    except (OSError, ValueError, TypeError, LookupError, AttributeError):
        return False  # no record, or a record of another format


def write_record(
    step: Step, root: Path, identity: list[str], inputs: Mapping[str, Stamp | None]
) -> None:
    """Record that the target was made by this command from these files."""
    record = {"key": identity, "inputs": inputs}
    (root / step.record).write_text(json.dumps(record))


def stamp(path: Path) -> Stamp | None:
    """Time, size and content hash of a file; None if it does not exist."""
    try:
        found = path.stat()
        return [found.st_mtime_ns, found.st_size, _digest(path, found.st_mtime_ns, found.st_size)]
    except OSError:
        return None


def _is_unchanged(path: Path, recorded: Stamp | None) -> bool:
    """Whether a file is unchanged: by its time if equal, else by its content.

    A checkout or an unpacked archive gives new times to old files.
    """
    if recorded is None:
        return False
    time_then, size_then, digest_then = recorded
    try:
        found = path.stat()
        if found.st_size != size_then:
            return False
        return found.st_mtime_ns == time_then or digest_then == _digest(
            path, found.st_mtime_ns, found.st_size
        )
    except OSError:
        return False


@cache
def _digest(path: Path, modified: int, size: int) -> str:
    del modified, size  # only the cache of results uses these parameters
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
