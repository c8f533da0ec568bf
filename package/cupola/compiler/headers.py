# cupola/compiler/headers.py - finds the files that a source's #include lines may refer to.
"""The content of all files that a compilation may include, for its key in the cache.

NVRTC does not report the files that it includes. So each include line, in any preprocessor branch,
is followed to each file that it may refer to in any searched folder. That is at least what the
compiler reads. A change of any of these files, a new one or a removed one gives another key.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

# Comments may separate the words of a directive; a backslash continues a line.
_GAP = rb"(?:[ \t\v\f]|/\*.*?\*/)*"
_DIRECTIVE = re.compile(
    rb"(?:#|%:|\?\?=)"
    + _GAP
    + rb"include(?:_next)?\b"
    + _GAP
    + rb'(?:"([^"\n]+)"|<([^>\n]+)>|(\w))',
    re.DOTALL,
)
# Matches macros such as BOOST_HAS_INCLUDE, too. Only these macros contain `__has_include(NAME)`.
_ASKED = re.compile(rb'has_include(?:_next)?\s*\(\s*(?:"([^"\n]+)"|<([^>\n]+)>)', re.IGNORECASE)
_SPLICE = re.compile(rb"\\[ \t]*\r?\n")


@dataclass(frozen=True)
class Scan:
    """The include lines of one file."""

    names: tuple[str, ...]
    whole: bool  # False: a macro makes an include line, which can't be followed
    digest: bytes


def scan(content: bytes) -> Scan:
    """The include lines of a file's content."""
    text = _SPLICE.sub(b"", content)
    names, whole = {}, True
    for quoted, angle, macro in _DIRECTIVE.findall(text):
        if macro:
            whole = False
        else:
            names[os.fsdecode(quoted or angle)] = None
    for quoted, angle in _ASKED.findall(text):
        names[os.fsdecode(quoted or angle)] = None
    return Scan(tuple(names), whole, hashlib.sha256(content).digest())


# The results by path, size, time of change and inode.
_scanned: dict[tuple[str, int, int, int], Scan] = {}
_SETTLED = 2_000_000_000  # ns: newer files may change without a new time stamp


def scan_file(path: str) -> Scan | None:
    """The include lines of a file; None where it can't be read."""
    try:
        with open(path, "rb") as file:
            there = os.fstat(file.fileno())
            mark = path, there.st_size, there.st_mtime_ns, there.st_ino
            known = _scanned.get(mark)
            if known is not None:
                return known
            found = scan(file.read())
    except (OSError, ValueError):
        return None
    if time.time_ns() - there.st_mtime_ns > _SETTLED:
        _scanned[mark] = found
    return found


def digest(
    sources: Iterable[tuple[str, bytes]], headers: Mapping[str, str], folders: Iterable[str]
) -> bytes | None:
    """A hash of the paths and contents of all files that the sources may include.

    The parameters are those of `included`. None where a macro makes an include line, so that its
    file is unknown.
    """
    found = included(sources, headers, folders)
    if found is None:
        return None
    total = hashlib.sha256()
    for path, content in sorted(found):
        total.update(os.fsencode(path) + b"\0" + content)
    return total.digest()


def included(
    sources: Iterable[tuple[str, bytes]], headers: Mapping[str, str], folders: Iterable[str]
) -> list[tuple[str, bytes]] | None:
    """The path and the SHA-256 of each file that the sources may include.

    Parameters
    ----------
    sources : iterable of (name, content)
        The name passed to the compiler: a source's own folder is searched, too.
    headers : dict
        Headers in memory.
    folders : iterable of str
        The searched folders.

    Returns
    -------
    list or None
        None where a macro makes an include line, so that its file is unknown.
    """
    folders = list(dict.fromkeys(folders))
    seen: set[str] = set()
    followed: set[tuple[str, str]] = set()  # real paths: includes may form cycles
    found: list[tuple[str, bytes]] = []
    waiting = [(os.path.dirname(name), scan(content)) for name, content in sources]
    waiting += [(os.path.dirname(name), scan(text.encode())) for name, text in headers.items()]
    while waiting:
        beside, scanned = waiting.pop()
        if not scanned.whole:
            return None
        for name in scanned.names:
            for folder in (beside, *folders):
                path = os.path.join(folder, name)
                if path in seen:
                    continue
                seen.add(path)
                inside = scan_file(path)
                if inside is None:
                    continue
                found.append((path, inside.digest))
                where = os.path.dirname(path)
                mark = os.path.realpath(path), os.path.realpath(where)
                if mark not in followed:
                    followed.add(mark)
                    waiting.append((where, inside))
    return found
