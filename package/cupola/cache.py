# cupola/cache.py - the disk cache of compiled images: verified on read, bounded in size.
"""The cache of compiled images.

A folder with one file for each entry, named by its key. An entry is written to a temporary file and
renamed, so a reader sees a whole entry or none. It begins with a hash of the rest. An entry that
does not verify, or that other users own or can write, counts as absent and is written again.

``CUPOLA_CACHE_DIR`` is the folder (by default ``cupola`` in ``$XDG_CACHE_HOME`` or ``~/.cache``);
``none`` or an empty text disables the cache. ``CUPOLA_CACHE_SIZE`` is its maximum size, in bytes or
as in ``512M``. The least recently used entries are removed first. The library reads both variables:
the CPU device keeps its machine code in the same folder, also for programs without Python.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import json
import os
import stat
import tempfile
import time
import warnings
from typing import Any

from cupola import library
from cupola.exceptions import ArgumentValueError

__all__ = ["clear", "folder", "key_of", "limit", "read", "trim", "write"]

MAGIC = b"cupola image cache 1\n"
SUFFIX = ".image"
_STALE = 3600  # seconds after which temporary files of writers are removed
_warned: set[str] = set()


def folder() -> str | None:
    """The folder, which may not exist yet; None where the cache is disabled."""
    # A function by its index is this call's own: threads would race for the type of a shared one.
    found = library.calls()["cupola_cache_folder"]
    found.restype = ctypes.c_char_p
    return os.fsdecode(found()) or None


def limit() -> int:
    """The cache's maximum size, in bytes.

    Raises
    ------
    ArgumentValueError
        Where CUPOLA_CACHE_SIZE is not a valid size.
    """
    native, found = library.calls(), ctypes.c_uint64()
    if native.cupola_cache_size(ctypes.byref(found)):
        last_error = native["cupola_last_error"]
        last_error.restype = ctypes.c_char_p
        raise ArgumentValueError(os.fsdecode(last_error()))
    return found.value


def key_of(parts: Any) -> str:
    """A key: the hash of a JSON value."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def read(key: str) -> tuple[dict[str, Any], bytes] | None:
    """An entry's description and content; None where there is no trusted entry."""
    place = folder()
    if place is None or not _is_ours(place):
        return None
    try:
        # Don't follow links, and don't block on a pipe.
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
    """Write an entry. A failure is reported by a warning, once."""
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
    """Remove the least recently used entries until the folder has at most `most` bytes."""
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
        with contextlib.suppress(OSError):  # another process removed the file first
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
    """Whether only this user can write to the folder; False where there is no folder."""
    try:
        there = os.stat(place)
    except OSError:
        return False
    if stat.S_ISDIR(there.st_mode) and _only_ours(there):
        return True
    _warn(
        place,
        f"the cache {place} is not used: it must belong to this user, and no other user may "
        f"have write access (chmod 700 {place})",
    )
    return False


def _warn(place: str, text: str) -> None:
    if place not in _warned:
        _warned.add(place)
        warnings.warn(text, RuntimeWarning, stacklevel=4)
