# package/cupola/build/image_merge.py - joins images of the same kernels, with their manifests.
"""Joins images that were built of the same sources for different targets."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from ..declare.stored_family import families_of
from ..exceptions import ImageError
from ..image import fatbin, reader
from ..image.fatbin import Piece
from ..image.manifest_text import recorded, written
from . import family_merge
from .error import BuildError
from .stub import stub
from .targets import Target, read

# The keys in which wheels may differ.
_OF_THE_TARGETS = ("image", "architectures", "ptx_version", family_merge.KEY, "kernels")
_MALFORMED = (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)
_CPU_DEVICE = reader.Device(90, machine_code=False)


class Library:
    """An image and its manifest.

    Parameters
    ----------
    place : str
        For messages.
    image : bytes
        A fatbin.
    text : bytes
        The manifest.

    Raises
    ------
    ImageError
        The manifest is malformed, or belongs to another image.
    """

    def __init__(self, place: str, image: bytes, text: bytes) -> None:
        from ..image.manifest import Manifest  # Manifest needs NumPy; builds do not

        self.place, self.image, self.text = place, image, text.decode()
        checked = Manifest(text, place)
        checked.require(image, place, digest=True)
        if not checked.has_digest or not checked.sources:
            raise BuildError(
                f"{place}: its manifest has no digests of the image and its sources; build it with "
                "this version of cupola"
            )
        list(checked.values())  # raises for malformed kernels
        for name in checked:
            checked.fixed(name)
        families_of(checked.head, checked.place)
        self.manifest: dict[str, Any] = json.loads(text)
        try:
            self.stub = stub(self.manifest).encode()
            self.kinds = [str(kind) for kind in self.manifest["architectures"]]
        except _MALFORMED as error:
            raise ImageError(
                f"the manifest of {place} is malformed: {type(error).__name__}: {error}"
            ) from error

    @cached_property
    def pieces(self) -> list[Piece]:
        """The entries of the image."""
        return fatbin.pieces(self.image)

    @property
    def kernels(self) -> dict[str, dict[str, Any]]:
        """The kernels' entries in the manifest, by name."""
        return {kernel["name"]: kernel for kernel in self.manifest["kernels"]}

    def for_cpu(self) -> bytes:
        """The PTX that the CPU device takes."""
        ((index, reason),) = reader.choose(self.image, [_CPU_DEVICE])
        if index is None:
            raise BuildError(f"{self.place}: the CPU device has no code: {reason}")
        return self.pieces[index].code


def merge(given: Sequence[Library], machine_code: Sequence[bool]) -> tuple[Library, list[str]]:
    """The library with the code of all libraries, and a line for each entry that is left out.

    Parameters
    ----------
    given : sequence of Library
    machine_code : sequence of bool
        For each library: whether the wheel has machine code for the CPU device beside it.

    Raises
    ------
    BuildError
        The libraries have different sources, or different code for one target.
    """
    first = given[0]
    for other in given[1:]:
        _compare(first, other)
    union = _union(given)
    left = _left_out(given, union)
    image = fatbin.joined(piece for piece in union if piece.name not in left)
    if reader.is_packed(first.image):
        image = reader.pack(image)
    text = written(renewed(given, image))
    merged = Library(first.place, image, text.encode())
    for one, made in zip(given, machine_code, strict=True):
        if made and one.for_cpu() != merged.for_cpu():
            raise BuildError(
                f"{one.place}: the machine code for the CPU device beside it was made of other PTX "
                "than the merged image has: build it (cpu) in the wheel that has the newest target "
                "without a suffix; or name the levels in a table of kernels, as in ptx = [75, 90]"
            )
    notes = [f"{name} left out, as in a build for all targets" for name in sorted(left)]
    return merged, notes


def _compare(first: Library, other: Library) -> None:
    """Raise unless two manifests have the same sources and kernels."""
    for key in [*first.manifest, *other.manifest]:
        mine, theirs = first.manifest.get(key), other.manifest.get(key)
        if key in _OF_THE_TARGETS or mine == theirs:
            continue
        if isinstance(mine, dict) and isinstance(theirs, dict):
            names = [
                name for name in sorted({*mine, *theirs}) if mine.get(name) != theirs.get(name)
            ]
            raise BuildError(
                f"{first.place} and {other.place} differ in {key}: {', '.join(names)}; build both "
                "of the same sources"
            )
        raise BuildError(
            f"{first.place} has {key} {mine!r}, and {other.place} has {theirs!r}: build both of "
            "the same sources, with the same toolkit"
        )
    family_merge.compare(first.manifest, other.manifest, (first.place, other.place))
    names = sorted(first.kernels.keys() ^ other.kernels.keys())
    if names:
        has, lacks = (first, other) if names[0] in first.kernels else (other, first)
        raise BuildError(
            f"{has.place} has the kernel {names[0]}, and {lacks.place} lacks it: build both of the "
            "same sources, with the same options"
        )
    for name, kernel in first.kernels.items():
        for key in {*kernel, *other.kernels[name]} - {"resources", "shared"}:
            if kernel.get(key) != other.kernels[name].get(key):
                raise BuildError(
                    f"{first.place} and {other.place} have other {key} of the kernel {name}: build "
                    "both of the same sources, with the same options"
                )


def _union(given: Sequence[Library]) -> list[Piece]:
    """The entries of all libraries; equal entries count once."""
    found: dict[str, tuple[Library, Piece]] = {}
    for library in given:
        for piece in library.pieces:
            owner, known = found.setdefault(piece.name, (library, piece))
            if known != piece:
                raise BuildError(
                    f"{owner.place} and {library.place} have different code for {piece.name}: "
                    "build both with the same toolkit and options, or each target in one of them"
                )
    return [piece for _, piece in found.values()]


def _left_out(given: Sequence[Library], union: Sequence[Piece]) -> set[str]:
    """The names of PTX entries that one build for all targets would not make. By default, a build
    makes PTX for the oldest level and for its newest target. So each of these builds has made PTX
    for a newest target of its own.
    """
    plain = [piece for piece in union if piece.kind == "ptx" and not piece.variant]
    ends = {piece.architecture for piece in plain}
    ends = {min(ends), max(ends)} if ends else set()
    return {
        piece.name
        for piece in plain
        if piece.architecture not in ends and not all(piece in library.pieces for library in given)
    }


def renewed(given: Sequence[Library], image: bytes) -> dict[str, Any]:
    """The manifest of an image with code of these libraries."""
    entries, first = reader.read_fatbin(image), given[0].manifest
    targets = {
        kind: sorted(Target(one.architecture, one.variant) for one in entries if one.kind == kind)
        for kind in given[0].kinds
    }
    versions = [one.version for one in entries if one.kind == "ptx"]
    return {
        **first,
        "image": recorded(first["image"]["file"], image),
        "ptx_version": max(versions, default=None),
        "architectures": {
            kind: [target.in_manifest for target in found] for kind, found in targets.items()
        },
        **family_merge.merged([one.manifest for one in given]),
        "kernels": [
            _kernel([library.kernels[name] for library in given], targets)
            for name in given[0].kernels
        ],
    }


def _kernel(given: Sequence[dict[str, Any]], targets: dict[str, list[Target]]) -> dict[str, Any]:
    """The entry of a kernel, with the resources of all targets that the image has."""
    resources = dict(_resources(given))
    # The oldest level of PTX describes the kernels.
    kept = {*targets.get("cubin", []), *targets.get("ptx", [])[:1]}
    merged = {
        **given[0],
        "resources": {f"sm_{one}": resources[one] for one in sorted(resources) if one in kept},
    }
    if "shared" in merged:
        merged["shared"] = max(one["shared"] for one in given)
    return merged


def _resources(given: Sequence[dict[str, Any]]) -> Iterator[tuple[Target, Any]]:
    for kernel in given:
        for name, used in kernel.get("resources", {}).items():
            target = read(name.removeprefix("sm_"))
            if target is not None:
                yield target, used
