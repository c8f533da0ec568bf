# package/cupola/build/compile_cache.py - reuses earlier results of compilers.
"""A cache of compilations, in the folder of `cupola.cache` (CUPOLA_CACHE_DIR).

An entry under the hash of the source, the options and the compilers' versions lists the headers
that were read, with their hashes. If these are unchanged, another entry has the result. So a
checkout, an isolated build or a wheel of the next version reuses earlier compilations.  Only
packages that are built with an installed cupola use the cache, not cupola itself.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from .depfile import write_rule
from .error import BuildError
from .step import Step

_VERSION = "compilation 3"
_VARIANTS = 16  # the maximum number of header sets for one source
# With these options, the result contains the name of the folder.
_LINES = {"-lineinfo", "--generate-line-info", "--device-debug"}
_LTO = "code=lto_"


def key(step: Step, root: Path) -> str | None:
    """The key under which the cache has a step's result; None without a cache."""
    cache = _cache()
    if cache is None:
        return None
    digests = [_digest(root / path) for path in step.inputs]
    return cache.key_of([_VERSION, step.identity(root), digests])


def fetch(key: str, step: Step, root: Path) -> str | None:
    """Restore an earlier result and return the compiler's output; None without a result."""
    cache = _cache()
    if cache is None:
        return None
    known = cache.read(key)
    for variant in known[0].get("variants", []) if known else []:
        if variant["root"] not in (None, str(root)):
            continue
        if any(_digest(root / path) != digest for path, digest in variant["headers"].items()):
            continue
        found = cache.read(_result_key(cache, key, variant))
        if found is None:
            continue
        about, content = found
        start = 0
        for path, size in zip(_made(step), about["sizes"], strict=True):
            (root / path).write_bytes(content[start : start + size])
            start += size
        assert step.depfile is not None
        # The compiler's dependency file may name folders that no longer exist.
        write_rule(root / step.depfile, step.target, variant["headers"])
        return about["output"]
    return None


def unchanged(path: Path, began: int) -> bool:
    """Whether a file exists and its last change was before the time `began` (ns)."""
    try:
        found = path.stat()
    except OSError:
        return False
    return max(found.st_mtime_ns, found.st_ctime_ns) < began


def keep(key: str, step: Step, root: Path, headers: Iterable[str], output: str, began: int) -> None:
    """Store a step's result and the headers that it read.

    `began` is a time (ns) before `key` was computed.
    """
    cache = _cache()
    if cache is None:
        return
    headers = list(headers)
    if not all(unchanged(root / path, began) for path in (*step.inputs, *headers)):
        return  # the key or the result may be of the content before the change
    made = [root / path for path in _made(step)]
    if not all(path.is_file() for path in made):
        return
    contents = [path.read_bytes() for path in made]
    digests = {path: _digest(root / path) for path in headers}
    if None in digests.values():
        return
    fixed = any(word in _LINES or _LTO in word for word in step.command)
    variant = {"root": str(root) if fixed else None, "headers": digests}
    about = {"sizes": [len(one) for one in contents], "output": output}
    _write(cache, _result_key(cache, key, variant), about, b"".join(contents))
    known = cache.read(key)
    others = [one for one in (known[0]["variants"] if known else []) if one != variant]
    _write(cache, key, {"variants": [variant, *others][:_VARIANTS]}, b"")


def recall(parts: list[Any]) -> dict[str, Any] | None:
    """The description that `remember` stored for the same parts, or None."""
    cache = _cache()
    found = None if cache is None else cache.read(cache.key_of([_VERSION, parts]))
    return None if found is None else found[0]


def remember(parts: list[Any], about: dict[str, Any]) -> None:
    """Store a description, a JSON value, for these parts."""
    cache = _cache()
    if cache is not None:
        _write(cache, cache.key_of([_VERSION, parts]), about, b"")


def _cache() -> ModuleType | None:
    if __package__ != "cupola.build":
        return None
    from cupola import cache

    return cache if cache.folder() is not None else None


def _write(cache: ModuleType, key: str, about: dict[str, Any], content: bytes) -> None:
    try:
        cache.write(key, about, content)
    except ValueError as error:  # CUPOLA_CACHE_SIZE is no size
        raise BuildError(str(error)) from None


def _made(step: Step) -> list[Path]:
    return [step.target, *step.extras]


def _result_key(cache: ModuleType, key: str, variant: dict[str, Any]) -> str:
    return cache.key_of([key, json.dumps(variant, sort_keys=True)])


def _digest(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None
