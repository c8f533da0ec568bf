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
from cupola.image import reader
from cupola.image.cxx_names import demangle
from cupola.image.manifest import Parameter
from cupola.image.ptx_functions import symbols
from cupola.image.reader import Entry, Image, read_image, read_kernels

_ZIP, _GZIP = (b"PK\3\4", b"PK\5\6"), b"\x1f\x8b"  # an archive with files, and an empty one
_SUFFIX = re.compile(r"(\.fatbin|\.cubin|\.ptx)$|\.so[.\d]*$")  # files that are read in a wheel
_MOST = 1 << 31  # bytes of a member


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
    ptx: str = field(default="", repr=False)


@dataclass
class Contents:
    """The contents of a file."""

    kind: str  # "fatbin", "cubin", "PTX", "library with 2 fatbins and 3 PTX texts"
    parts: list[Part]
    kernels: list[Kernel]
    open: list[str] = field(default_factory=list)  # symbols that cupola.link must define, in C++


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
    return _of_file(path, _content(path))


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
        return [(str(path), _of_file(path, data))]
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
                image = _member(archive, name)
                known = {}
                if text is not None:
                    manifest = manifests.Manifest(text, f"{path}: {beside}")
                    if not suffix[1]:
                        known = _told(manifest)
                    elif manifest.is_of(name):
                        manifest.require(image, place, digest=True)
                        known = _told(manifest)
                # A linker script may have a library's name.
                contents = _contents(place, image, known) if suffix[1] or _is_elf(image) else None
                if contents is not None:
                    found.append((name, contents))
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
        # A package's images before its libraries; in a project's folder src/heat/kernels.fatbin.
        images = [one for pattern in ("*", "*/*", "*/*/*") for one in sorted(path.glob(pattern))
                  if one.suffix in (".fatbin", ".cubin", ".ptx")]  # fmt: skip
        images += sorted(one for one in path.iterdir() if _SUFFIX.search(one.name))
        raise ImageError(
            f"{path} is a folder: expected a .fatbin, .cubin or .ptx, a library, a program or a "
            "wheel" + (f", such as {images[0]}" if images else "")
        ) from None


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    if archive.getinfo(name).file_size > _MOST:
        raise ValueError(f"{name} of more than {_MOST:,} bytes")
    with archive.open(name) as file:
        data = file.read(_MOST + 1)
    if len(data) > _MOST:
        raise ValueError(f"{name} of more bytes than the archive says")
    return data


def _is_elf(data: bytes) -> bool:
    return data.startswith(b"\x7fELF")


def _of_file(path: Path, data: bytes) -> Contents:
    contents = _contents(str(path), data, _manifest(path, data))
    if contents is None:
        raise ImageError(f"{path}: a library or program without a fatbin or PTX inside")
    return contents


def _contents(path: str, data: bytes, known: dict[str, list[str]]) -> Contents | None:
    """The contents of an image; None for a library without one."""
    try:
        image = read_image(data)
    except ImageError as error:
        raise ImageError(f"{path}: {error}") from None
    if image.kind == "library" and not image.entries:
        return None
    contents = Contents(_title(image), [], [])
    kernels: dict[str, Kernel] = {}
    left: set[str] = set()
    for entry in image.entries:
        contents.parts.append(_part(entry))
        if entry.kind not in ("cubin", "ptx"):
            continue
        try:
            _add(kernels, known, entry)
            if entry.kind == "ptx":
                left |= {name for name, one in symbols(_text(entry)).items() if not one.defined}
        except ImageError as error:
            raise ImageError(f"{path}: {error}") from None
    contents.open = sorted(map(demangle, left))
    contents.kernels = sorted(kernels.values(), key=lambda kernel: kernel.signature)
    return contents


def _title(image: Image) -> str:
    if image.kind != "library":
        return {"ptx": "PTX"}.get(image.kind, image.kind)
    held = [(image.fatbins, "fatbin"), (image.texts, "PTX text")]
    text = " and ".join(f"{n} {what}{'s' if n > 1 else ''}" for n, what in held if n)
    return f"library with {text}"


def _part(entry: Entry) -> Part:
    architecture = {"cubin": "sm_", "ptx": "compute_"}.get(entry.kind, "") + entry.target
    if entry.kind == "cubin":
        return Part("machine code", architecture, len(entry.payload))
    if entry.kind == "ltoir":
        return Part("LTO-IR", f"lto_{entry.target}", len(entry.payload))
    if entry.kind != "ptx":
        return Part(f"code of {entry.kind}", architecture, len(entry.payload))
    name = f"PTX {entry.version}".rstrip()
    return Part(name, architecture, len(entry.payload), ptx=_text(entry))


def _text(entry: Entry) -> str:
    return entry.payload.decode("utf-8", "replace")


def _add(kernels: dict[str, Kernel], known: dict[str, list[str]], entry: Entry) -> None:
    for found in read_kernels(entry.payload):
        types = [_type(one, entry.kind) for one in found.parameters or ()]
        if found.parameters is None:
            types = ["?"]
        kernel = kernels.setdefault(found.name, Kernel(found.name, []))
        if entry.kind == "ptx":  # has types
            kernel.parameters = _best(known, found.name, types)
            continue
        if not kernel.resources and not kernel.parameters:
            kernel.parameters = _best(known, found.name, types)
        kernel.resources.append(
            Resources(f"sm_{entry.target}", found.registers, found.shared, found.local)
        )


def _best(known: dict[str, list[str]], name: str, otherwise: list[str]) -> list[str]:
    """Parameters from the manifest, else from the C++ name, else from the code."""
    if name in known:
        return known[name]
    _, bracket, rest = demangle(name).partition("(")
    if bracket and "(" not in rest.removesuffix(")"):
        return [] if rest in (")", "void)") else rest.removesuffix(")").split(", ")
    return otherwise


def _type(parameter: reader.Parameter, code: str) -> str:
    """A parameter's type, as far as the code has it: PTX has kinds, a cubin sizes alone."""
    size, kinds = parameter.size, parameter.kinds
    if code == "cubin":
        return f"{size} bytes"
    if kinds == reader.STRUCT:
        return f"struct of {size} bytes"
    if kinds == reader.FLOAT:
        return {2: "half", 4: "float", 8: "double"}[size]
    return "pointer or 8-byte integer" if kinds & reader.POINTER else f"{size}-byte integer"


def _manifest(path: Path, data: bytes) -> dict[str, list[str]]:
    """Each kernel's parameters from the manifest of the file, or of the library's kernels."""
    if _is_elf(data) and path.suffix != ".cubin":  # a library or program
        places = (path.with_suffix(".json"), path.with_name("kernels.json"))
        found = next(filter(None, map(manifests.read, map(str, places))), None)
    else:
        found = None if path.suffix == ".json" else manifests.beside(str(path), data)
    return {} if found is None else _told(found)


def _told(manifest: manifests.Manifest) -> dict[str, list[str]]:
    return {name: [_spelled(one) for one in given] for name, given in manifest.items()}


def _spelled(parameter: Parameter) -> str:
    name, kind, type_name, _, size, *_ = parameter
    text = type_name or (f"{size} bytes" if kind == "unknown" else kind)
    if "pointer" in kind:
        text = f"{'const ' if kind.startswith('const') else ''}{type_name or 'void'}*"
    return f"{text} {name}".strip()
