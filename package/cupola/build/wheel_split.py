# package/cupola/build/wheel_split.py - moves code for some targets into wheels of their own.
"""Divides a wheel into a small wheel for all users, and wheels that extras install."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from email.parser import BytesHeaderParser
from pathlib import Path

from ..image import fatbin, reader, wheel
from ..image.fatbin import Piece
from ..image.manifest_text import written
from ..image.wheel import Wheel
from .error import BuildError
from .image_merge import Library, renewed
from .targets import Target, names, read

_KEPT = ("Metadata-Version", "Requires-Python", "License", "License-Expression", "Author",
         "Author-email", "Maintainer", "Maintainer-email", "Home-page")  # fmt: skip


def split_wheel(path: Path, parts: Mapping[str, Sequence[str]], output: Path) -> list[str]:
    """Write a wheel without some targets, and a wheel for each part. Returns lines about the
    wheels.

    Parameters
    ----------
    path : Path
        A wheel with all targets.
    parts : mapping of str to sequence of str
        The targets of each part, as in ``{"sm90a": ["90a"]}``. A part is an extra of the package.
    output : Path
        The folder for the wheels.

    Raises
    ------
    BuildError
        A target is unknown, is in two parts or in no image; or the package has no such extra.
    ImageError, MissingFileError
        The file is no wheel, or is damaged.
    """
    whole = wheel.read(path)
    if output.resolve() == path.parent.resolve():
        raise BuildError(f"{output}: the wheel {path.name} is there: name another folder")
    chosen = _chosen(parts)
    for name in parts:
        _require_extra(whole, name)
    contents = dict(whole.contents)
    made: dict[str, dict[str, bytes]] = {name: {} for name in parts}
    for file in [file for file in contents if file.endswith(".fatbin")]:
        stem = file.removesuffix(".fatbin")
        if f"{stem}.json" not in contents:
            continue
        text = contents[f"{stem}.json"]
        library = Library(f"{path}: {file}", contents[file], text)
        described = contents.get(f"{stem}.pyi") == library.stub
        main = _divided(library, chosen, stem, made)
        contents[file], contents[f"{stem}.json"] = main.image, main.text.encode()
        if described:
            contents[f"{stem}.pyi"] = main.stub
    for name, files in made.items():
        if not files:
            targets = names(target for target, part in chosen.items() if part == name)
            raise BuildError(f"{path}: no image has code for {targets}, the targets of {name}")
    lines = []
    model = whole.entries[f"{whole.about}/RECORD"]
    for name, files in made.items():
        distribution = f"{whole.name}_{name}"
        about = f"{distribution}-{whole.version}.dist-info"
        files[f"{about}/METADATA"] = _metadata(whole, name)
        files[f"{about}/WHEEL"] = whole.contents[f"{whole.about}/WHEEL"]
        target = output / f"{distribution}-{whole.version}-{whole.tags}.whl"
        like = dict.fromkeys([*files, f"{about}/RECORD"], model)
        wheel.write(target, about, files, like)
        lines.append(f"wrote {target}")
    wheel.write(output / path.name, whole.about, contents, whole.entries)
    return [*lines, f"wrote {output / path.name}"]


def _chosen(parts: Mapping[str, Sequence[str]]) -> dict[Target, str]:
    """The part of each target."""
    found: dict[Target, str] = {}
    for name, targets in parts.items():
        if not name.isalnum():
            raise BuildError(f"the part {name!r}: expected letters and digits, as in sm90a")
        for word in targets:
            target = read(word)
            if target is None:
                raise BuildError(f"the part {name}: {word!r} is no target: write 90a or 120")
            if target in found:
                raise BuildError(f"the target {target} is in the parts {found[target]} and {name}")
            found[target] = name
    return found


def _require_extra(whole: Wheel, part: str) -> None:
    """Refuse a package whose extra does not install the part."""
    metadata = BytesHeaderParser().parsebytes(whole.contents[f"{whole.about}/METADATA"])
    name = _normal(f"{whole.name}-{part}")
    for line in metadata.get_all("Requires-Dist", []):
        needed, _, marker = line.partition(";")
        version = re.fullmatch(r"\s*([\w.-]+)\s*\(?\s*==\s*([^\s)]+)\s*\)?\s*", needed)
        extra = re.fullmatch(r"\s*extra\s*==\s*['\"]([\w.-]+)['\"]\s*", marker)
        if version is None or extra is None or _normal(extra[1]) != _normal(part):
            continue
        if _normal(version[1]) == name and version[2] == whole.version:
            return
    raise BuildError(
        f"{whole.path}: the package has no extra {part!r} that installs {name}: write in "
        f"pyproject.toml, below [project.optional-dependencies], "
        f'{part} = ["{name}=={whole.version}"], and build again'
    )


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _divided(
    library: Library,
    chosen: Mapping[Target, str],
    stem: str,
    made: dict[str, dict[str, bytes]],
) -> Library:
    """The library without the code of the parts. The files of the parts are added to ``made``."""
    taken: dict[str, list[Piece]] = {}
    for piece in library.pieces:
        name = chosen.get(Target(piece.architecture, piece.variant), "")
        taken.setdefault(name if piece.kind == "cubin" else "", []).append(piece)
    rest = taken.pop("", [])
    if not taken:
        return library
    if not rest:
        raise BuildError(f"{library.place}: nothing would be left: keep the PTX or a target")
    listed = []
    for name, pieces in taken.items():
        part = _part(library, pieces, f"{stem}.{name}.fatbin", {"part": name})
        made[name] |= {
            f"{stem}.{name}.fatbin": part.image,
            f"{stem}.{name}.json": part.text.encode(),
        }
        targets = [piece.name for piece in pieces]
        capabilities = _takers(library, targets)
        listed.append({"name": name, "targets": targets, "capabilities": capabilities})
    return _part(library, rest, f"{stem}.fatbin", {"parts": listed})


def _part(library: Library, pieces: Sequence[Piece], file: str, more: dict[str, object]) -> Library:
    image = fatbin.joined(pieces)
    image = reader.pack(image) if reader.is_packed(library.image) else image
    manifest = renewed([library], image)
    kernels = manifest.pop("kernels")
    manifest["image"]["file"] = file.rpartition("/")[2]
    return Library(file, image, written({**manifest, **more, "kernels": kernels}).encode())


def _takers(library: Library, targets: Sequence[str]) -> list[int]:
    """The compute capabilities whose devices take the code for one of these targets, and no other
    code of the image.
    """
    devices = [reader.Device(number) for number in reader.CAPABILITIES]
    return [
        device.capability
        for device, (index, _) in zip(devices, reader.choose(library.image, devices), strict=True)
        if index is not None and library.pieces[index].name in targets
    ]


def _metadata(whole: Wheel, part: str) -> bytes:
    """METADATA of a part."""
    theirs = BytesHeaderParser().parsebytes(whole.contents[f"{whole.about}/METADATA"])
    package = str(theirs["Name"])
    lines = [(name, value) for name in _KEPT for value in theirs.get_all(name, [])]
    lines[1:1] = [
        ("Name", f"{package}-{part}"),
        ("Version", whole.version),
        ("Summary", f"Machine code of {package}, which its extra {part} installs"),
    ]
    lines.append(("Requires-Dist", f"{package}=={whole.version}"))
    return "".join(f"{name}: {value}\n" for name, value in lines).encode()
