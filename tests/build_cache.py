"""tests/build_cache.py - what compilers make from the sources of tests, kept in build/tests.

An entry is a folder, whose name is a digest of what it was made from. So processes and later runs
share it, and a change of a source makes another one. `.ci/run` starts without entries.
"""

import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "build" / "tests"
UNUSED = 7 * 24 * 3600  # seconds until an entry that no test has used is removed


def digest(parts):
    """Of texts, and of the paths and contents of files."""
    found = hashlib.sha256()
    for part in parts:
        found.update(f"{type(part).__name__} {part}\0".encode())
        if isinstance(part, Path):
            found.update(hashlib.sha256(part.read_bytes()).digest())
    return found.hexdigest()[:32]


def entry(parts, make):
    """The folder that ``make(folder)`` has filled from the parts: texts, and paths of files.

    The parts must have everything that decides the folder's contents.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    there = FOLDER / digest(parts)
    with open(f"{there}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not there.exists():
            remove_unused()
            made = Path(tempfile.mkdtemp(prefix="new-", dir=FOLDER))
            try:
                make(made)
                made.rename(there)
            finally:
                shutil.rmtree(made, ignore_errors=True)
        os.utime(there)
    return there


def remove_unused():
    for each in FOLDER.iterdir():
        if time.time() - each.stat().st_mtime > UNUSED:
            if each.is_dir():
                shutil.rmtree(each, ignore_errors=True)
            else:
                each.unlink(missing_ok=True)
