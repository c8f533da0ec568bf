# package/cupola/build/source_entries.py - the entries of a table's `sources`, with their targets.
"""Sources for all targets of a library, and sources with targets of their own."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .targets import Target
from .targets import read as read_target

if TYPE_CHECKING:
    from .kernels import Kernels

_KEYS = ("file", "architectures")
_FORM = "{ file = 'wgmma.cu', architectures = ['90a'] }"


def read(
    kernels: Kernels, entries: Iterable[Any]
) -> tuple[tuple[Any, ...], dict[str, tuple[Target, ...]]]:
    """The files or patterns of all entries, and the targets of the entries that name targets.

    Raises
    ------
    BuildError
        An entry is invalid; the error names it.
    """
    files: list[Any] = []
    own: dict[str, tuple[Target, ...]] = {}
    for entry in entries:
        if not isinstance(entry, Mapping):
            files.append(entry)
            continue
        for key in entry:
            if key not in _KEYS:
                near = difflib.get_close_matches(str(key), _KEYS, 1)
                meant = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(_KEYS)}"
                raise kernels.wrong("sources", dict(entry), f"unknown key {key!r}: {meant}")
        file = entry.get("file")
        if not isinstance(file, str) or not file or "architectures" not in entry:
            raise kernels.wrong("sources", dict(entry), f"expected a table as {_FORM}")
        if file in own:
            raise kernels.wrong("sources", file, "two tables name it: write one list of targets")
        own[file] = _targets(kernels, file, entry["architectures"])
        files.append(file)
    for file in own:
        if files.count(file) > 1:
            raise kernels.wrong(
                "sources", file, "it is listed with targets of its own and without: remove one"
            )
    return tuple(files), own


def _targets(kernels: Kernels, file: str, given: Any) -> tuple[Target, ...]:
    several = isinstance(given, Iterable) and not isinstance(given, (str, bytes))
    words = [str(one).strip() for one in (given if several else [given])]
    found = []
    for word in words:
        target = read_target(word)
        if target is None:
            hint = ": leave architectures out for all targets of the table" * (word == "all")
            raise kernels.wrong(
                "sources", file, f"architectures = {word!r}: expected targets as in ['80', '90a']"
                f"{hint}"
            )  # fmt: skip
        found.append(target)
    if not found:
        raise kernels.wrong("sources", file, "architectures = []: at least one target is wanted")
    return tuple(sorted(set(found)))


def check(kernels: Kernels) -> None:
    """Refuse targets of sources, and selections of kernels, in a table that ignores them."""
    if kernels.host and kernels.selects:
        name = "sources" if kernels.source_targets else "only" if kernels.only else "without"
        raise kernels.wrong(
            name, getattr(kernels, name), "a host library has all kernels for all its targets"
        )
    if not kernels.source_targets:
        return
    if kernels.relocatable is False and len(kernels.sources) > 1:
        raise kernels.wrong(
            "relocatable", False, "this compiles all sources as one text, and "
            f"{next(iter(kernels.source_targets))} has targets of its own: remove one of the two"
        )  # fmt: skip
    if kernels.architectures is not None and all_have_own(kernels):
        raise kernels.wrong(
            "architectures", kernels.architectures, "no source is for them: each has targets of "
            "its own; remove the key"
        )  # fmt: skip


def all_have_own(kernels: Kernels) -> bool:
    """Whether no source is for all targets of the library."""
    return bool(kernels.source_targets) and set(kernels.sources) <= set(kernels.source_targets)


def applies(own: Mapping[str, Sequence[Target]], source: str, target: Target) -> bool:
    """Whether a source is compiled for a target."""
    return source not in own or target in own[source]


def better(kernels: Kernels, path: str, pattern: str, known: str | None) -> str:
    """The entry to which a file belongs, of two: an entry with targets takes precedence."""
    own = kernels.source_targets
    if known is None or (pattern in own and known not in own):
        return pattern
    if pattern in own and pattern != known:
        raise kernels.wrong(
            "sources", path, f"{known} and {pattern} both name it, each with its own targets: "
            "write one of them"
        )  # fmt: skip
    return known
