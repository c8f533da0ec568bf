# cupola/image/verification.py - compares images, and the sources they were made of, with manifests.
"""The comparison of files with the digests in manifests and in RECORD, for `cupola verify`."""

from __future__ import annotations

import base64
import csv
import hashlib
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from cupola.exceptions import ImageError, MissingFileError
from cupola.image import parts
from cupola.image.manifest import Manifest

SUFFIXES = (".fatbin", ".cubin", ".ptx")


class Finding(NamedTuple):
    """The result for one file."""

    file: str
    fault: str  # "" where it has the recorded digest
    digest: str = ""
    record: str = "the manifest"  # the place of the recorded digest


def verify(place: Path, sources: Path | None = None) -> list[Finding]:
    """Compare images with their manifests, and an installed package with its installer's RECORD.

    Parameters
    ----------
    place : Path
        An image, a folder with images, or a wheel. Files that RECORD does not list are compared
        with manifests alone, and listed files that are no images only appear with a fault.
    sources : Path, optional
        The project's folder: its sources are compared, too.

    Raises
    ------
    MissingFileError
        There is no such file.
    ImageError
        A manifest is malformed, or nothing there is an image.
    """
    found = []
    texts = {}
    recorded = {finding.file: finding for finding in _recorded(place)}
    for name, image, text in _images(place):
        if text is None and name in recorded:
            found.append(recorded[name])
        else:
            found += _compared(name, image, text, sources)
        texts[name] = text
    found += _parts(texts)
    found += [one for name, one in recorded.items() if one.fault and name not in texts]
    if not found:
        raise ImageError(f"{place}: it has no image: no {', '.join(SUFFIXES)}")
    return found


def _images(place: Path) -> Iterator[tuple[str, bytes, bytes | None]]:
    """Name and bytes of each image, and the text of its manifest."""
    if place.is_dir():
        for path in sorted(place.rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                yield str(path.relative_to(place)), path.read_bytes(), _beside(path)
    elif not place.is_file():
        raise MissingFileError(f"there is no file or folder {place} (in {Path.cwd()})")
    elif zipfile.is_zipfile(place):
        yield from _members(place)
    elif place.suffix in SUFFIXES:
        yield place.name, place.read_bytes(), _beside(place)


def _recorded(folder: Path) -> Iterator[Finding]:
    """Each file of an installed package, compared with the RECORD that pip wrote beside it."""
    for record in sorted(folder.parent.glob("*.dist-info/RECORD")):
        with open(record, newline="", encoding="utf-8") as lines:
            entries = [entry for entry in csv.reader(lines) if len(entry) == 3]
        for name, digest, size in entries:
            if not name.startswith(f"{folder.name}/") or not digest.startswith("sha256="):
                continue
            yield _as_recorded(folder.parent / name, name.partition("/")[2], digest[7:], size)


def _as_recorded(path: Path, name: str, wanted: str, size: str) -> Finding:
    if not path.is_file():
        return Finding(name, "it is missing; install the package again", record="RECORD")
    content = path.read_bytes()
    found = hashlib.sha256(content)
    fault = ""
    if base64.urlsafe_b64encode(found.digest()).rstrip(b"=").decode() != wanted:
        fault = (
            f"it differs from RECORD, which has {size} bytes; the file has {len(content)}; "
            "install the package again"
        )
    return Finding(name, fault, found.hexdigest(), record="RECORD")


def _beside(path: Path) -> bytes | None:
    manifest = path.with_suffix(".json")
    return manifest.read_bytes() if manifest.is_file() else None


def _members(wheel: Path) -> Iterator[tuple[str, bytes, bytes | None]]:
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
            for name in sorted(names):
                stem, dot, suffix = name.rpartition(".")
                if dot + suffix in SUFFIXES:
                    text = archive.read(f"{stem}.json") if f"{stem}.json" in names else None
                    yield name, archive.read(name), text
    # zipfile raises these for invalid, encrypted or unsupported archives.
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
        raise ImageError(f"{wheel}: a wheel that can't be read: {error}") from None


def _compared(
    name: str, image: bytes, text: bytes | None, sources: Path | None
) -> Iterator[Finding]:
    manifest = None if text is None else Manifest(text, f"{name.rpartition('.')[0]}.json")
    if manifest is None or not manifest.is_of(name):
        yield Finding(name, "it has no manifest")
    elif not manifest.has_digest:
        yield Finding(name, f"{manifest.place} has no digest: build it with this version of cupola")
    else:
        digest = hashlib.sha256(image).hexdigest()
        try:
            manifest.require(image, name, digest=True)
        except ImageError as error:
            yield Finding(name, str(error).removeprefix(f"{name}: "), digest)
        else:
            yield Finding(name, "", digest)
        if sources is not None:
            yield from (_source(sources, *one) for one in manifest.sources.items())


def _parts(texts: Mapping[str, bytes | None]) -> Iterator[Finding]:
    """A fault for each part that does not belong to its image. Without the image, parts are not
    compared.
    """
    for name, text in texts.items():
        stem, _, suffix = name.rpartition(".")
        image, _, part_name = stem.rpartition(".")
        whole = texts.get(f"{image}.{suffix}")
        if text is None or whole is None:
            continue
        part = Manifest(text, f"{stem}.json")
        if "part" not in part.head:
            continue
        try:
            parts.require_same(Manifest(whole, f"{image}.json"), part, part_name, name)
        except ImageError as error:
            yield Finding(name, str(error))


def _source(folder: Path, name: str, recorded: str) -> Finding:
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        return Finding(name, "it is outside of the project")
    if not path.is_file():
        return Finding(name, f"there is no such file in {folder}")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    same = digest == recorded
    return Finding(name, "" if same else f"expected SHA-256 {recorded}, got {digest}", digest)
