# package/cupola/build/wheel_merge.py - joins wheels of one tree that were built for other targets.
"""Joins the wheels of several machines. The result is the wheel that one build for all targets
makes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

from ..declare import tuning_table
from ..image import wheel
from ..image.wheel import Wheel
from .error import BuildError
from .image_merge import Library, merge

_MACHINE_CODE = re.compile(r"(.+)\.(x86-64-v\d|aarch64|generic)\.so")
_MEASUREMENTS = re.compile(r".+/tuning/[^/]+\.json")
_GENERATOR = re.compile(rb"^Generator: .*\n", re.MULTILINE)


def merge_wheels(paths: Sequence[Path], output: Path) -> list[str]:
    """Write a wheel with the code of all wheels, and return lines about its images.

    Parameters
    ----------
    paths : sequence of Path
        At least two wheels.
    output : Path
        The wheel to write, or a folder for it.

    Raises
    ------
    BuildError
        The wheels are not of the same sources, have other code for one target, or have tables of
        measurements for different code.
    ImageError, MissingFileError
        A file is no wheel, or is damaged.
    """
    if len(paths) < 2:
        raise BuildError("a merge takes two or more wheels of the same sources")
    wheels = [wheel.read(path) for path in paths]
    first = wheels[0]
    for other in wheels[1:]:
        for what in ("name", "version", "tags", "build"):
            mine, theirs = getattr(first, what), getattr(other, what)
            if mine != theirs:
                raise BuildError(
                    f"{other.path} has the {what} {theirs!r}, and {first.path} has {mine!r}: only "
                    "wheels of the same sources, Python and platform can be merged"
                )
    target = output / first.path.name if output.is_dir() or not output.suffix else output
    if target.name != first.path.name:
        raise BuildError(
            f"{target}: installers read the name of a wheel: write {first.path.name}, in a folder "
            "of its own, or name the folder alone"
        )
    contents, lines = _contents(wheels)
    entries = {name: entry for one in reversed(wheels) for name, entry in one.entries.items()}
    wheel.write(target, first.about, contents, entries)
    return [*lines, f"wrote {target}"]


def _contents(wheels: Sequence[Wheel]) -> tuple[dict[str, bytes], list[str]]:
    names = _order(wheels)
    changed: dict[str, bytes] = {}
    lines: list[str] = []
    for name in [name for name in names if name.endswith(".fatbin")]:
        stem = name.removesuffix(".fatbin")
        if not all({name, f"{stem}.json"} <= one.contents.keys() for one in wheels):
            continue  # `_same` names the wheel that lacks a file
        found = [_library(one, stem) for one in wheels]
        merged, notes = merge(found, _codes(wheels, stem))
        lines += [f"{stem}: {note}" for note in notes]
        changed[name], changed[f"{stem}.json"] = merged.image, merged.text.encode()
        # The build has made this .pyi from the manifest. A .pyi of makers stays as it is.
        pairs = zip(wheels, found, strict=True)
        if all(one.contents.get(f"{stem}.pyi") == library.stub for one, library in pairs):
            changed[f"{stem}.pyi"] = merged.stub
    for name in filter(_MEASUREMENTS.fullmatch, names):
        if len({one.contents.get(name) for one in wheels}) > 1:
            changed[name] = _measurements(wheels, name)
            lines.append(f"{name}: joined")
    same = {name: changed.get(name) or _same(wheels, name) for name in names}
    return same, lines


def _measurements(wheels: Sequence[Wheel], name: str) -> bytes:
    """A table with the newest row for each key, of the wheels that have the table."""
    owners = [one for one in wheels if name in one.contents]
    joined = None
    for one in owners:
        try:
            table = tuning_table.read(one.contents[name])
            joined = table if joined is None else tuning_table.merge(joined, table)
        except tuning_table.TableError as error:
            raise BuildError(f"{one.path}: {name}: {error}") from None
    assert joined is not None
    return tuning_table.written(joined).encode()


def _library(one: Wheel, stem: str) -> Library:
    image, text = (one.contents[f"{stem}{suffix}"] for suffix in (".fatbin", ".json"))
    return Library(f"{one.path}: {stem}.fatbin", image, text)


def _codes(wheels: Sequence[Wheel], stem: str) -> list[bool]:
    """For each wheel: whether it has machine code of these kernels for the CPU device."""
    return [
        any(found[1] == stem for name in one.contents if (found := _MACHINE_CODE.fullmatch(name)))
        for one in wheels
    ]


def _same(wheels: Sequence[Wheel], name: str) -> bytes:
    """The content of a file; raises unless all wheels have the file with equal bytes."""
    compared: Callable[[bytes], bytes] = bytes
    if name == f"{wheels[0].about}/WHEEL":
        compared = _without_generator
    found = [(one, one.contents[name]) for one in wheels if name in one.contents]
    lacking = [one for one in wheels if name not in one.contents]
    # Machine code for the CPU device serves all targets, so one wheel with this file is enough.
    if lacking and not _MACHINE_CODE.fullmatch(name):
        raise BuildError(
            f"{lacking[0].path} lacks {name}, which {found[0][0].path} has: the wheels are not of "
            "the same sources"
        )
    owner, content = found[0]
    for other, theirs in found[1:]:
        if compared(theirs) != compared(content):
            raise BuildError(
                f"{name} differs between {owner.path} and {other.path}: build both of the same "
                "sources, with the same Python packages and compilers"
            )
    return content


def _without_generator(text: bytes) -> bytes:
    """The text of a file WHEEL without the version of the build backend."""
    return _GENERATOR.sub(b"", text)


def _order(wheels: Sequence[Wheel]) -> list[str]:
    """The names of all files. The first wheel's files keep their order. Each other file stands
    after the file that precedes it in the sorted names of its folder.
    """
    names = list(wheels[0].contents)
    for name in sorted({name for one in wheels[1:] for name in one.contents} - set(names)):
        folder = PurePosixPath(name).parent
        before = [at for at, other in enumerate(names)
                  if PurePosixPath(other).parent == folder and other < name]  # fmt: skip
        names.insert(before[-1] + 1 if before else 0, name)
    return names
