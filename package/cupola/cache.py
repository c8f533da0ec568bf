# cupola/cache.py - what was compiled, kept on disk: checked when read, bounded in size.
"""The cache of compiled images.

A folder of files, one an entry, named by their keys. An entry is written aside and renamed, so
that a reader sees a whole one or none, whoever else writes. It begins with a hash of the rest:
what does not verify, is not this user's own, or could have been written by others counts as absent
and is written anew.

``CUPOLA_CACHE_DIR`` is the folder (by default ``cupola`` in ``$XDG_CACHE_HOME`` or ``~/.cache``);
``none``, or an empty text, means no cache. ``CUPOLA_CACHE_SIZE`` is how much it may hold, in bytes
or as in ``512M``; the entries that were not used for longest go first.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
import tempfile
import time
import warnings
from typing import Any

from cupola.exceptions import ArgumentValueError

MAGIC = b"cupola image cache 1\n"
SUFFIX = ".image"
USUAL_SIZE = 512 << 20  # bytes
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_STALE = 3600  # seconds after which what a writer left behind is removed
_warned: set[str] = set()


def folder() -> str | None:
    """The folder, which need not exist yet; None: there is no cache."""
    asked = os.environ.get("CUPOLA_CACHE_DIR")
    if asked is not None:
        return None if asked in ("", "none") else os.path.abspath(asked)
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # others are to be ignored, says the rule
        base = os.path.expanduser("~/.cache")
    return os.path.join(base, "cupola") if os.path.isabs(base) else None


def limit() -> int:
    """How many bytes the cache may hold.

    Raises
    ------
    ArgumentValueError
        Where CUPOLA_CACHE_SIZE is no such number.
    """
    asked = os.environ.get("CUPOLA_CACHE_SIZE", "").strip()
    if not asked:
        return USUAL_SIZE
    read = re.fullmatch(r"(\d{1,15})([KMG]?)(?:(?<=[KMG])IB)?", asked.upper())
    if read is None:
        raise ArgumentValueError(
            f'CUPOLA_CACHE_SIZE is "{asked}"; expected a number of bytes, as in 1000000, 64K, '
            "512MiB or 2G"
        )
    return int(read[1]) * _UNITS[read[2]]


def key_of(parts: Any) -> str:
    """A key: the hash of what JSON can write."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def read(key: str) -> tuple[dict[str, Any], bytes] | None:
    """An entry's description and content; None where there is none to be trusted."""
    place = folder()
    if place is None or not _is_ours(place):
        return None
    try:
        # Not through a link, and not waiting where it is a pipe.
        file = os.open(
            os.path.join(place, key + SUFFIX), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        )
    except OSError:
        return None
    try:
        there = os.fstat(file)
        if not stat.S_ISREG(there.st_mode) or not _only_ours(there):
            return None
        with open(file, "rb", closefd=False) as opened:
            found = _verified(opened.read(), key)
        if found is not None:
            with contextlib.suppress(OSError):
                os.utime(file)  # used just now
        return found
    except OSError:
        return None
    finally:
        os.close(file)


def write(key: str, about: dict[str, Any], content: bytes) -> None:
    """Keep an entry. Where that can't be done nothing is kept, and a warning says why, once."""
    place = folder()
    most = limit()
    if place is None:
        return
    described = json.dumps({**about, "key": key}).encode()
    body = len(described).to_bytes(8, "little") + described + content
    whole = MAGIC + hashlib.sha256(body).digest() + body
    if len(whole) > most:
        return
    try:
        os.makedirs(place, 0o700, exist_ok=True)
        if not _is_ours(place):
            return
        aside, path = tempfile.mkstemp(prefix=".", suffix=".new", dir=place)
        try:
            with open(aside, "wb") as file:
                file.write(whole)
            os.replace(path, os.path.join(place, key + SUFFIX))
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(path)
            raise
        trim(place, most)
    except OSError as error:
        _warn(place, f"compiled images are not kept in {place}: {error.strerror or error}")


def trim(place: str, most: int) -> None:
    """Remove what was not used for longest until the folder holds `most` bytes."""
    entries, total = [], 0
    with os.scandir(place) as listed:
        for entry in listed:
            with contextlib.suppress(OSError):
                there = entry.stat(follow_symlinks=False)
                if entry.name.endswith(".new"):
                    if time.time() - there.st_mtime > _STALE:
                        os.unlink(entry.path)
                elif entry.name.endswith(SUFFIX):
                    entries.append((there.st_mtime_ns, there.st_size, entry.path))
                    total += there.st_size
    for _, size, path in sorted(entries):
        if total <= most:
            break
        with contextlib.suppress(OSError):  # another process was first
            os.unlink(path)
        total -= size


def clear() -> None:
    """Remove all entries."""
    place = folder()
    if place is not None and os.path.isdir(place):
        trim(place, -1)


def _verified(whole: bytes, key: str) -> tuple[dict[str, Any], bytes] | None:
    start = len(MAGIC)
    body = whole[start + 32 :]
    if whole[:start] != MAGIC or hashlib.sha256(body).digest() != whole[start : start + 32]:
        return None
    size = int.from_bytes(body[:8], "little")
    try:
        about = json.loads(body[8 : 8 + size])
        return (about, body[8 + size :]) if about.pop("key") == key else None
    except (ValueError, AttributeError, KeyError, RecursionError):
        return None


def _only_ours(there: os.stat_result) -> bool:
    return there.st_uid == os.geteuid() and not there.st_mode & 0o022


def _is_ours(place: str) -> bool:
    """Whether nobody else can put anything into the folder; False where there is none."""
    try:
        there = os.stat(place)
    except OSError:
        return False
    if stat.S_ISDIR(there.st_mode) and _only_ours(there):
        return True
    _warn(
        place,
        f"the cache {place} is not used: it must be a folder of this user's own that nobody else "
        f"can write to (chmod 700 {place})",
    )
    return False


def _warn(place: str, text: str) -> None:
    if place not in _warned:
        _warned.add(place)
        warnings.warn(text, RuntimeWarning, stacklevel=4)
