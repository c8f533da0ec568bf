# cupola/judging/shipped.py - an operation of an installed package, read as data.
"""The declaration and the code of an operation, from the manifest and the image of its package.

Nothing of the package is imported. The manifest and the image are not trusted.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from cupola.declare.declaration_error import DeclarationError
from cupola.declare.family import Variant
from cupola.declare.family_operation import FamilyOperation
from cupola.declare.stored_family import StoredFamily, families_of
from cupola.exceptions import ImageError, MissingFileError
from cupola.image.installed import folders_of
from cupola.image.kernel_names import named
from cupola.image.manifest import Manifest
from cupola.image.reader import Device, choose, read_image, read_lines
from cupola.image.verification import SUFFIXES
from cupola.judging.verdict import Finding, Refused

_NAME = re.compile(r"([^\W\d]\w*(?:\.[^\W\d]\w*)*):([^\W\d]\w*)")
_MOST_MANIFEST = 64 << 20  # bytes
_MOST_IMAGE = 512 << 20
_CPU_DEVICE = Device(90, machine_code=False)
_MALFORMED = (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)


def is_operation(candidate: object) -> bool:
    """Whether it is a text such as ``heat:step``."""
    return isinstance(candidate, str) and _NAME.fullmatch(candidate) is not None


class Library:
    """An image of a package with its manifest.

    Parameters
    ----------
    path : Path
        Of the image.
    manifest : Manifest
    """

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path, self.manifest = path, manifest

    def operations(self) -> dict[str, dict[str, Any]]:
        """The tables of the operations, by name."""
        given = self.manifest.head.get("operations", [])
        if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
            raise refused(f"{self.manifest.place}: its operations are no list of tables")
        return {str(one.get("name")): one for one in given}

    def ptx(self) -> bytes:
        """The PTX that the CPU device takes."""
        try:
            self.manifest.require_complete(str(self.path), repr(str(self.path)))
            content = _content(self.path, _MOST_IMAGE)
            self.manifest.require(content, str(self.path), digest=True)
            ((index, reason),) = choose(content, [_CPU_DEVICE])
            entry = None if index is None else read_image(content).entries[index]
        except ImageError as error:
            raise refused(f"{self.path}: {error}") from None
        if entry is None or entry.kind != "ptx":
            raise refused(
                f"{self.path} has no PTX for the CPU device ({reason}); build the package with "
                "PTX among its architectures"
            )
        return entry.payload

    def kernel(self, text: str) -> dict[str, Any]:
        """The manifest's kernel that a declaration names."""
        try:
            found = named(self._whole, text)
            if found is None:
                known = ", ".join(sorted(one["demangled"] for one in self._whole["kernels"])[:8])
                raise refused(f"{self.manifest.place} has no kernel {text!r}; it has {known}")
            parameters = found["parameters"]
            if not all(isinstance(one, dict) for one in parameters):
                raise TypeError("parameters are no tables")
        except _MALFORMED as error:
            raise refused(
                f"the manifest {self.manifest.place} is malformed: {type(error).__name__}: {error}"
            ) from None
        return found

    @cached_property
    def _whole(self) -> dict[str, Any]:
        """The JSON value. A library can have thousands of kernels, so it is parsed once."""
        whole: dict[str, Any] = json.loads(self.manifest.text)
        return whole


def refused(text: str) -> Refused:
    """The exception for an invalid manifest or image."""
    return Refused(Finding("package", text[:2000]))


def find(candidate: str) -> tuple[Library, dict[str, Any]]:
    """The library that has an operation, and the operation's table.

    Parameters
    ----------
    candidate : str
        As ``heat:step``.

    Raises
    ------
    MissingFileError
        There is no such package or operation.
    Refused
        A manifest of the package is invalid.
    """
    match = _NAME.fullmatch(candidate)
    assert match is not None
    package, name = match[1], match[2]
    folders = folders_of(package)
    if not folders:
        raise MissingFileError(
            f"there is no installed package {package}: install it, or set PYTHONPATH"
        )
    known: list[str] = []
    for library in _libraries(folders):
        tables = library.operations()
        if f"{package}.{name}" in tables:
            return library, tables[f"{package}.{name}"]
        known += tables
    raise MissingFileError(
        f"the package {package} has no operation {name}: "
        + (f"it has {', '.join(sorted(known))}" if known else "no manifest of it has operations")
    )


def _libraries(folders: list[str]) -> Iterator[Library]:
    """The images with a manifest in folders."""
    for folder in folders:
        for path in sorted(Path(folder).glob("*")):
            place = path.with_suffix(".json")
            if path.suffix not in SUFFIXES or not path.is_file() or not place.is_file():
                continue
            try:
                manifest = Manifest(_content(place, _MOST_MANIFEST), str(place))
                is_own = manifest.is_of(str(path)) and "part" not in manifest.head
            except ImageError as error:
                raise refused(str(error)) from None
            if is_own:
                yield Library(path, manifest)


def _content(path: Path, most: int) -> bytes:
    size = path.stat().st_size
    if size > most:
        raise ImageError(f"{path} has {size:,} bytes: expected at most {most:,}")
    return path.read_bytes()


def variants_of(
    library: Library, table: Mapping[str, Any]
) -> list[tuple[str, Library, dict[str, Any]]]:
    """The variants of an operation's family, the default first: a text, the library and the table.

    Raises
    ------
    Refused
        The manifest is invalid, or the table does not fit the family.
    """
    name = str(table["family"])
    try:
        families = families_of(library.manifest.head, library.manifest.place)
        family = families.get(name.rpartition(".")[2])
        if family is None:
            raise ImageError(f"{library.manifest.place} has no such family")
        default = family.declaration.default
        libraries = {library.path: library}
        return [
            _variant(libraries, library.path, family, table, variant)
            for variant in (default, *(one for one in family.variants if one != default))
            if family.variants[variant].kernels
        ]
    except (ImageError, DeclarationError) as error:
        raise refused(f"the family {name!r}: {error}") from None
    except _MALFORMED as error:
        raise refused(f"the family {name!r}: {type(error).__name__}: {error}") from None


def _variant(
    libraries: dict[Path, Library], beside: Path, family: StoredFamily, table: Mapping[str, Any],
    variant: Variant,
) -> tuple[str, Library, dict[str, Any]]:  # fmt: skip
    stored = family.variants[variant]
    path = beside.with_name(stored.library.rpartition(".")[2] + beside.suffix)
    if path not in libraries:
        place = path.with_suffix(".json")
        if not path.is_file() or not place.is_file():
            raise ImageError(f"there is no image {path} with a manifest")
        manifest = Manifest(_content(place, _MOST_MANIFEST), str(place))
        libraries[path] = Library(path, manifest)
    kernels = [libraries[path].kernel(symbol) for symbol in stored.kernels.values()]
    parameters = kernels[0]["parameters"]
    names = [str(one["name"] or "") for one in parameters if one.get("hidden") is not True]
    shared = max((int(one["shared"]) for one in kernels if "block" in one), default=None)
    whole = FamilyOperation(table, family.declaration, names, str(table.get("name")))
    found = whole.declaration(variant, stored.kernels, shared)
    text = family.declaration.text(variant)
    return text, libraries[path], {**found.table, "name": found.name}


def hidden_of(kernel: Mapping[str, Any]) -> tuple[int, ...]:
    """The places of the parameters that the compiler of a kernel added."""
    return tuple(
        place for place, one in enumerate(kernel["parameters"]) if one.get("hidden") is True
    )


def source_lines(ptx: bytes, kernels: set[str]) -> tuple[str, set[int]]:
    """The name of the source that has most of the kernels' code, and the lines that have code.

    Parameters
    ----------
    ptx : bytes
    kernels : set of str
        Names in the PTX.

    Returns
    -------
    tuple
        ("", empty) where the PTX has no lines.
    """
    lines, inside, places = read_lines(ptx), False, Counter[tuple[str, int]]()
    for text, place in zip(ptx.decode(errors="replace").splitlines(), lines.places, strict=False):
        entry = re.search(r"\.entry\s+([\w$]+)", text)
        if entry:
            inside = entry[1] in kernels
        elif text.startswith("}"):
            inside = False
        if inside and place is not None:
            places[lines.files[place[0]].rpartition("/")[2], place[1]] += 1
    by_file = Counter[str]()
    for (file, _), count in places.items():
        by_file[file] += count
    if not by_file:
        return "", set()
    most = by_file.most_common(1)[0][0]
    return most, {line for file, line in places if file == most}
