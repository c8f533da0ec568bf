# cupola/image/contents.py - reads kernels and resources from image files, without a driver.
"""The kernels of an image file, and of the images inside a library."""

from __future__ import annotations

import io
import os
import re
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from cupola.exceptions import ImageError, MissingFileError
from cupola.image import manifest as manifests
from cupola.image.cubin import FATBIN_MAGIC, Entry, architecture_of, read_cubin, read_fatbin
from cupola.image.cxx_names import demangle
from cupola.image.manifest import Parameter

_ZIP, _GZIP = (b"PK\3\4", b"PK\5\6"), b"\x1f\x8b"  # an archive with files, and an empty one
_SUFFIX = re.compile(r"(\.fatbin|\.cubin|\.ptx)$|\.so[.\d]*$")  # files that are read in a wheel
_MOST = 1 << 31  # bytes of a member
_ELF = b"\x7fELF"
_MACHINE = slice(0x12, 0x14)
_CUDA = (190).to_bytes(2, "little")
_FATBIN = FATBIN_MAGIC.to_bytes(4, "little")
# The beginning of PTX; comments may stand in between.
_TEXT = re.compile(rb"\.version\s+\d+\.\d+\s+(?://[^\n]*\s+)*\.target\s+sm_(\d+)")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ENTRY = re.compile(r"\.entry\s+([\w$%]+)\s*(?:\(([^)]*)\))?")
_PARAMETER = re.compile(r"\.([bfsu])(\d+)\s+(?:\.ptr\b.*?)?\s*[\w$%]+\s*(?:\[\s*(\d+)\s*\])?\s*$",
                        re.DOTALL)  # fmt: skip


@dataclass
class Resources:
    """A kernel's resources in one part's code; None means unknown. Bytes are per thread, shared
    bytes per block. Local bytes are the stack: spilled registers, arrays with indices computed at
    run time, and frames of called functions. Only ptxas reports the size of spills; machine code
    does not.
    """

    architecture: str
    registers: int
    shared: int
    local: int
    spill_stores: int | None = None
    spill_loads: int | None = None


@dataclass
class Kernel:
    """A kernel, with its resources in each part."""

    name: str
    parameters: list[str]  # as C++ text, as far as they are known
    resources: list[Resources] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The C++ name without parameters."""
        return demangle(self.name).partition("(")[0].removeprefix("void ")

    @property
    def signature(self) -> str:
        """The C++ name with parameters."""
        return f"{self.title}({', '.join(self.parameters)})"


@dataclass
class Part:
    """One piece of code."""

    what: str  # "PTX 9.0", "machine code", ...
    architecture: str  # "compute_75", "sm_90", "" where it is of none
    nbytes: int
    compressed: bool = False
    ptx: str = field(default="", repr=False)


@dataclass
class Contents:
    """The contents of a file."""

    kind: str  # "fatbin", "cubin", "PTX", "library with 2 fatbins and 3 PTX texts"
    parts: list[Part]
    kernels: list[Kernel]


def read(path: str | os.PathLike[str]) -> Contents:
    """Read a fatbin, a cubin, PTX, or a library or program with fatbins inside.

    Names and types of parameters come from the manifest beside it, where there is one; else from
    C++ names, PTX, or sizes.

    Raises
    ------
    MissingFileError
        There is no such file.
    ImageError
        The file is none of these, or is invalid; the text has the position.
    """
    path = Path(path)
    return _contents(str(path), _content(path), _manifest(path))


def read_all(path: str | os.PathLike[str]) -> list[tuple[str, Contents]]:
    """Read a file as `read` does, or each image in a wheel, with its name there.

    A wheel's images are fatbins, cubins, PTX, and libraries with any of them inside.

    Raises
    ------
    MissingFileError
        There is no such file.
    ImageError
        The file is none of these, has no image, or is invalid; the text has the position.
    """
    path = Path(path)
    data = _content(path)
    if data.startswith(_GZIP):
        raise ImageError(
            f"{path}: a compressed archive, as source distributions are: they hold no images"
        )
    if not data.startswith(_ZIP):
        return [(str(path), _contents(str(path), data, _manifest(path)))]
    found = []
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = set(archive.namelist())
            for name in sorted(names):
                suffix = _SUFFIX.search(name)
                if suffix is None:
                    continue
                beside = f"{name.removesuffix(suffix[0])}.json"
                text = _member(archive, beside) if beside in names else None
                place = f"{path}: {name}"
                known = {} if text is None else _told(manifests.Manifest(text, f"{path}: {beside}"))
                image = _member(archive, name)
                if suffix[1] or _may_hold(image):
                    found.append((name, _contents(place, image, known)))
    # zipfile raises these for invalid, encrypted or unsupported archives.
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError,
            OSError, ValueError) as error:  # fmt: skip
        raise ImageError(f"{path}: a zip archive that can't be read: {error}") from None
    if not found:
        raise ImageError(f"{path}: an archive without an image of kernels inside")
    return found


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise MissingFileError(f"there is no file {path} (in {os.getcwd()})") from None
    except IsADirectoryError:
        images = sorted(one.name for one in path.iterdir() if _SUFFIX.search(one.name))
        raise ImageError(
            f"{path} is a folder: expected a .fatbin, .cubin or .ptx, a library, a program or a "
            "wheel" + (f", such as {path / images[0]}" if images else "")
        ) from None


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    if archive.getinfo(name).file_size > _MOST:
        raise ValueError(f"{name} of more than {_MOST:,} bytes")
    with archive.open(name) as file:
        data = file.read(_MOST + 1)
    if len(data) > _MOST:
        raise ValueError(f"{name} of more bytes than the archive says")
    return data


def _may_hold(library: bytes) -> bool:
    return _FATBIN in library or _TEXT.search(library) is not None


def _contents(path: str, data: bytes, known: dict[str, list[str]]) -> Contents:
    try:
        kind, entries = _entries(data)
    except ImageError as error:
        raise ImageError(f"{path}: {error}") from None
    contents = Contents(kind, [], [])
    kernels: dict[str, Kernel] = {}
    for entry in entries:
        contents.parts.append(_part(entry))
        if entry.compressed or entry.kind not in ("cubin", "ptx"):
            continue
        try:
            _add(kernels, known, entry)
        except ImageError as error:
            raise ImageError(f"{path}: {error}") from None
    contents.kernels = sorted(kernels.values(), key=lambda kernel: kernel.signature)
    return contents


def _entries(data: bytes) -> tuple[str, list[Entry]]:
    if data.startswith(_FATBIN):
        return "fatbin", read_fatbin(data, everything=True)
    if data.startswith(_ELF) and data[_MACHINE] == _CUDA:
        return "cubin", [Entry("cubin", architecture_of(data), data)]
    if data.startswith(_ELF):
        return _embedded(data)
    text = data.partition(b"\0")[0]
    if _COMMENT.sub("", text.decode("utf-8", "replace")).lstrip().startswith(".version"):
        target = re.search(rb"^\s*\.target\s+sm_(\d+)", text, re.MULTILINE)
        return "PTX", [Entry("ptx", int(target[1]) if target else 0, text)]
    raise ImageError(
        "neither a fatbin, nor a cubin, nor PTX, nor a library with any of these inside"
    )


def _embedded(data: bytes) -> tuple[str, list[Entry]]:
    """Find fatbins and PTX in a library's bytes. A fatbin's magic number may occur elsewhere by
    chance. PTX inside a fatbin is not listed separately.
    """
    found, count, end, at = [], 0, 0, data.find(_FATBIN)
    spans = []
    while at >= 0:
        try:
            entries = read_fatbin(memoryview(data)[at:], everything=True)
        except ImageError:
            entries = []
        if entries:
            found += entries
            count += 1
            spans.append((at, at + int.from_bytes(data[at + 8 : at + 16], "little")))
        at = data.find(_FATBIN, at + 4)
    texts = 0
    for text in _TEXT.finditer(data):
        if text.start() < end or any(first <= text.start() < last for first, last in spans):
            continue
        end = data.find(b"\0", text.start())
        end = len(data) if end < 0 else end
        found.append(Entry("ptx", int(text[1]), data[text.start() : end]))
        texts += 1
    if not found:
        raise ImageError("a library or program without a fatbin or PTX inside")
    held = [(count, "fatbin"), (texts, "PTX text")]
    held_text = " and ".join(f"{n} {what}{'s' if n > 1 else ''}" for n, what in held if n)
    return f"library with {held_text}", found


def _part(entry: Entry) -> Part:
    architecture = {"cubin": "sm_", "ptx": "compute_"}.get(entry.kind, "") + str(entry.architecture)
    if entry.kind == "cubin":
        return Part("machine code", architecture, len(entry.payload), entry.compressed)
    if entry.kind != "ptx":
        return Part(f"code of {entry.kind}", architecture, len(entry.payload), entry.compressed)
    if entry.compressed:
        return Part("PTX", architecture, len(entry.payload), True)
    text = entry.payload.decode("utf-8", "replace")
    version = re.search(r"^\s*\.version\s+(\d+\.\d+)", text, re.MULTILINE)
    name = f"PTX {version[1]}" if version else "PTX"
    return Part(name, architecture, len(entry.payload), ptx=text)


def _add(kernels: dict[str, Kernel], known: dict[str, list[str]], entry: Entry) -> None:
    if entry.kind == "ptx":
        for name, parameters in ptx_kernels(entry.payload.decode("utf-8", "replace")).items():
            there = kernels.setdefault(name, Kernel(name, []))
            there.parameters = _best(known, name, parameters)
        return
    for found in read_cubin(entry.payload):
        sizes = [f"{parameter.size} bytes" for parameter in found.parameters]
        if found.name not in kernels:
            kernels[found.name] = Kernel(found.name, _best(known, found.name, sizes))
        kernels[found.name].resources.append(
            Resources(f"sm_{entry.architecture}", found.registers, found.shared, found.local)
        )


def _best(known: dict[str, list[str]], name: str, otherwise: list[str]) -> list[str]:
    """Parameters from the manifest, else from the C++ name, else from the code."""
    if name in known:
        return known[name]
    _, bracket, rest = demangle(name).partition("(")
    if bracket and "(" not in rest.removesuffix(")"):
        return [] if rest in (")", "void)") else rest.removesuffix(")").split(", ")
    return otherwise


def ptx_kernels(text: str) -> dict[str, list[str]]:
    """The parameters of each kernel of a PTX text, as far as PTX describes them."""
    return {
        entry[1]: [_ptx_type(one) for one in (entry[2] or "").split(",") if one.strip()]
        for entry in _ENTRY.finditer(_COMMENT.sub("", text))
    }


def _ptx_type(declaration: str) -> str:
    read = _PARAMETER.search(declaration)
    if read is None:
        return "?"
    kind, size = read[1], int(read[2]) // 8
    if read[3]:
        return f"struct of {size * int(read[3])} bytes"
    if kind == "f":
        return {2: "half", 4: "float", 8: "double"}.get(size, f"float of {size} bytes")
    return "pointer or 8-byte integer" if size == 8 else f"{size}-byte integer"


def _manifest(path: Path) -> dict[str, list[str]]:
    """Each kernel's parameters from the manifest beside the file."""
    for place in (path.with_suffix(".json"), path.with_name("kernels.json")):
        found = manifests.read(str(place)) if place != path else None
        if found is not None:
            return _told(found)
    return {}


def _told(manifest: manifests.Manifest) -> dict[str, list[str]]:
    return {name: [_spelled(one) for one in given] for name, given in manifest.items()}


def _spelled(parameter: Parameter) -> str:
    name, kind, type_name, _, size, *_ = parameter
    text = type_name or (f"{size} bytes" if kind == "unknown" else kind)
    if "pointer" in kind:
        text = f"{'const ' if kind.startswith('const') else ''}{type_name or 'void'}*"
    return f"{text} {name}".strip()
