# cupola/image/manifest.py - reads the manifest beside an image.
"""Manifests of images, as `cupola.build.manifest` writes them.

A manifest is untrusted, like its image: its form is checked, and a kernel is refused where sizes or
offsets differ from the image. A library can have many kernels, of which few are used. So a kernel's
entry is parsed at its first use, if the manifest has one line for each kernel, as cupola's have.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from cupola.exceptions import ImageError
from cupola.image.descriptor import Descriptor
from cupola.image.descriptor import read as read_descriptor

FORMAT = 1
_MOST = 1 << 16  # more bytes than any kernel's parameters have
_MOST_SHARED = 1 << 20  # more bytes than any device's blocks have
_HEAD, _TAIL = b'"kernels": [\n', b"}\n]}\n"
_NAME = b'{"name": '
_SCALAR = re.compile(r"\|b1|\|[iuV]1|<[iu][248]|<f[248]|\|V\d{1,5}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MALFORMED = (
    ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, OverflowError
)  # fmt: skip


class Parameter(NamedTuple):
    """A parameter as a manifest describes it."""

    name: str
    kind: str  # as in cupola.module
    type: str  # for a pointer, the type of its target
    offset: int
    size: int
    dtype: np.dtype[Any] | None  # dtype of a value, or of a pointer's target
    restrict: bool
    hidden: bool = False  # added by the compiler: no caller gives it, and it is zero
    align: int = 1  # bytes, of an address, where the code relies on more than the type needs
    descriptor: Descriptor | None = None  # the argument that fills this parameter and later ones


class Fixed(NamedTuple):
    """Block and dynamic shared memory of a kernel, where its compiler fixes them."""

    block: tuple[int, int, int]  # threads
    shared: int  # bytes of dynamic shared memory


class Recorded(NamedTuple):
    """The image that a manifest describes."""

    file: str  # the name that the build gave it
    size: int
    sha256: str


class Manifest(Mapping[str, list[Parameter]]):
    """Parameters by kernel.

    Parameters
    ----------
    text : bytes
        The file's content.
    place : str
        For messages.

    Raises
    ------
    ImageError
        Where it is malformed, or has a format that this version does not support. Errors in a
        kernel's entry are raised at its first use.
    """

    def __init__(self, text: bytes, place: str) -> None:
        self.text, self.place = text, place
        self._read: dict[str, list[Parameter]] = {}
        self._whole: dict[str, dict[str, Any]] | None = None
        try:
            at = text.find(_HEAD)
            # Whether each kernel has its own line, so that a kernel can be parsed alone.
            self._lines = text.startswith(_HEAD + _NAME, max(at, 0)) and text.endswith(_TAIL)
            self._head = _object(text[:at] + b'"kernels": []}' if self._lines else text)
            given = self._head["format"]
            if given != FORMAT:
                raise ImageError(
                    f"the manifest {place} has format {given!r}; this version of cupola reads "
                    f"format {FORMAT}"
                )
            if not self._lines:
                self._kernels()
        except _MALFORMED as error:
            raise self._malformed(error) from error

    def _kernels(self) -> dict[str, dict[str, Any]]:
        """All kernels' JSON entries by name."""
        if self._whole is None:
            whole = _object(self.text)
            self._whole = {str(kernel["name"]): kernel for kernel in whole["kernels"]}
        return self._whole

    def _line(self, name: str) -> bytes | None:
        """The line of one kernel."""
        begin = b"\n" + _NAME + json.dumps(name).encode() + b","
        at = self.text.find(begin)
        if at < 0:
            return None
        return self.text[at + 1 : self.text.find(b"\n", at + 1)].removesuffix(b",")

    def _malformed(self, error: Exception, kernel: str = "") -> ImageError:
        where = f"{self.place} is malformed" + (f", kernel {kernel}" if kernel else "")
        return ImageError(f"the manifest {where}: {type(error).__name__}: {error}")

    def about(self, name: str) -> dict[str, Any]:
        """A kernel's JSON entry.

        Raises
        ------
        KeyError
            There is no kernel of that name.
        """
        try:
            line = self._line(name) if self._lines and self._whole is None else None
            kernel = self._kernels()[name] if line is None else json.loads(line)
            if not isinstance(kernel, dict):
                raise TypeError(f"a kernel's entry must be a dict, got {type(kernel).__name__}")
            return kernel
        except _MALFORMED as error:
            if isinstance(error, KeyError) and error.args == (name,):
                raise
            raise self._malformed(error, name) from error

    def variable(self, name: str) -> np.dtype[Any] | None:
        """The dtype of a variable; None where the manifest does not describe it."""
        described = self._head.get("variables", {})
        try:
            return dtype_of(described[name]) if name in described else None
        except _MALFORMED as error:
            raise self._malformed(error) from error

    def fixed(self, name: str) -> Fixed | None:
        """The block and the dynamic shared memory of a kernel; None where a launch chooses them."""
        about = self.about(name)
        try:
            if "block" not in about:
                return None
            x, y, z = (_number(axis) for axis in about["block"])
            return Fixed((x, y, z), _number(about["shared"], _MOST_SHARED))
        except _MALFORMED as error:
            raise self._malformed(error, name) from error

    def is_of(self, path: str) -> bool:
        """Whether it describes an image in a file of that suffix. The manifest of ``q.fatbin`` does
        not describe ``q.ptx``, which has the same stem. A manifest that names no image can be of
        any.
        """
        recorded = self._recorded()
        return recorded is None or _suffix(recorded.file) == _suffix(path)

    def require(self, image: Any, place: str, *, digest: bool) -> None:
        """Compare the image with the size and, if ``digest``, with the SHA-256 in the manifest.

        Parameters
        ----------
        image : bytes-like
            All of the image.
        place : str
            The image's file, for messages.
        digest : bool
            If false, the manifest may lack the two, and the SHA-256 is not computed.

        Raises
        ------
        ImageError
            They differ: the manifest is of another image.
        """
        recorded = self._recorded()
        if recorded is None:
            return
        size = memoryview(image).nbytes
        if size != recorded.size:
            self._differs(recorded, place, f"{recorded.size:,} bytes", f"{size:,}")
        if digest:
            import hashlib

            found = hashlib.sha256(image).hexdigest()
            if found != recorded.sha256:
                self._differs(recorded, place, f"SHA-256 {recorded.sha256}", found)

    def _differs(self, recorded: Recorded, place: str, expected: str, got: str) -> None:
        raise ImageError(
            f"{place}: the manifest {self.place} is of another image: {recorded.file} of "
            f"{expected}, and this one has {got}; build both again, or remove the manifest"
        )

    @property
    def has_digest(self) -> bool:
        """Whether it has the SHA-256 of its image."""
        return self._recorded() is not None

    @property
    def asks_for_verification(self) -> bool:
        """Whether the package's table has ``verify = true``."""
        return self._head.get("verify") is True

    @property
    def sources(self) -> dict[str, str]:
        """The SHA-256 of each source by its name in the project."""
        given = self._head.get("sources", {})
        try:
            if not all(_SHA256.fullmatch(digest) for digest in given.values()):
                raise ValueError("a digest that is no SHA-256")
            return dict(given)
        except _MALFORMED as error:
            raise self._malformed(error) from error

    @property
    def open(self) -> dict[str, str]:
        """The symbols that no source of the package defines, and the C++ declaration of each
        symbol.
        """
        try:
            found = {one["name"]: one["declaration"] for one in self._head.get("open", [])}
            if not all(isinstance(word, str) for pair in found.items() for word in pair):
                raise TypeError("names and declarations are text")
            return found
        except _MALFORMED as error:
            raise self._malformed(error) from error

    def require_complete(self, what: str, argument: str) -> None:
        """Refuse to load an image whose kernels are complete only after a link.

        Parameters
        ----------
        what : str
            The image or the library, for the message.
        argument : str
            The same as an argument of `cupola.link`.

        Raises
        ------
        ImageError
            The manifest names open functions or variables.
        """
        if self.open:
            raise ImageError(
                f"{what}: its kernels use what their user defines: {'; '.join(self.open.values())}"
                f"; link them with a source that does: module = cupola.link([{argument}, "
                "'functions.cu'])"
            )

    def _recorded(self) -> Recorded | None:
        given = self._head.get("image")
        if given is None:
            return None
        try:
            recorded = Recorded(given["file"], given["size"], given["sha256"])
            if not isinstance(recorded.file, str) or type(recorded.size) is not int:
                raise TypeError("the image's file is text, and its size a number")
            if not isinstance(recorded.sha256, str) or not _SHA256.fullmatch(recorded.sha256):
                raise ValueError(f"an SHA-256 of {recorded.sha256!r}")
            return recorded
        except _MALFORMED as error:
            raise self._malformed(error) from error

    @property
    def head(self) -> dict[str, Any]:
        """The fields that describe the whole image."""
        return self._head

    def __getitem__(self, name: str) -> list[Parameter]:
        if name not in self._read:
            kernel = self.about(name)
            try:
                self._read[name] = [parameter(one) for one in kernel["parameters"]]
            except _MALFORMED as error:
                raise self._malformed(error, name) from error
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        if self._lines and self._whole is None and self._line(name) is not None:
            return True
        return name in self._all()

    def _all(self) -> dict[str, dict[str, Any]]:
        try:
            return self._kernels()
        except _MALFORMED as error:
            raise self._malformed(error) from error

    def __repr__(self) -> str:
        return f"Manifest({self.text!r}, {self.place!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Manifest, (self.text, self.place)


def _object(text: bytes) -> dict[str, Any]:
    found = json.loads(text)
    if not isinstance(found, dict):
        raise TypeError(f"it holds {type(found).__name__}")
    return found


def read(path: str) -> Manifest | None:
    """The manifest in a file, or None where there is no such file."""
    try:
        with open(path, "rb") as file:
            text = file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ImageError(f"the manifest {path} can't be read: {error.strerror}") from error
    return Manifest(text, path)


def _suffix(path: str) -> str:
    return os.path.splitext(path)[1]


def beside(path: str, image: Any) -> Manifest | None:
    """The manifest of an image in a file, ``q.json`` of ``q.fatbin``; None where there is none.

    Raises
    ------
    ImageError
        The manifest is of another image, or malformed.
    """
    found = read(f"{os.path.splitext(path)[0]}.json")
    if found is None or not found.is_of(path):
        return None
    found.require(image, path, digest=True)
    return found


def parameter(given: dict[str, Any]) -> Parameter:
    """Convert one parameter; raises KeyError, TypeError or ValueError where it is invalid."""
    kind, restrict = given["kind"], given.get("restrict") is True
    type_name, spec = given.get("type") or "", given.get("dtype")
    if kind == "pointer":
        element = given.get("element") or {}
        type_name, spec = element["type"] if element else "", element.get("dtype")
        if given.get("const"):
            kind = "const pointer"
    elif kind == "integer":
        signed = given["signed"]
        kind = "integer" if signed is None else "signed" if signed else "unsigned"
    elif kind == "float" and "bfloat16" in type_name:
        kind = "bfloat"
    elif kind not in ("float", "struct", "unknown"):
        raise ValueError(f"unknown kind {kind!r}")
    offset, size = _number(given["offset"]), _number(given["size"])
    name = given.get("name") or ""
    if not isinstance(name, str) or not isinstance(type_name, str):
        raise TypeError("names and types are text")
    dtype = None if spec is None else dtype_of(spec)
    if dtype is not None and "pointer" not in kind and dtype.itemsize != size:
        raise ValueError(f"a dtype of {dtype.itemsize} bytes for a value of {size}")
    align = _number(given.get("align", 1))
    if align < 1 or align & (align - 1):
        raise ValueError(f"an alignment of {align!r}")
    hidden = given.get("hidden") is True
    told = given.get("descriptor")
    descriptor = None if told is None else read_descriptor(told, name)
    return Parameter(
        name, kind, type_name, offset, size, dtype, restrict, hidden, align, descriptor
    )


def _number(given: Any, most: int = _MOST) -> int:
    if type(given) is not int or not 0 <= given < most:
        raise ValueError(f"an offset or size of {given!r}")
    return given


def dtype_of(spec: Any, depth: int = 16) -> np.dtype[Any]:
    """The NumPy dtype for a description of `cupola.build.layout`.

    Raises
    ------
    KeyError, TypeError, ValueError
        It is invalid, or not possible in C: fields overlap or exceed the struct.
    """
    if isinstance(spec, str) and _SCALAR.fullmatch(spec):
        return np.dtype(spec)
    if depth == 0:
        raise ValueError("structs in structs without an end")
    if isinstance(spec, list):
        inner, shape = dtype_of(spec[0], depth - 1), tuple(_number(axis) for axis in spec[1])
        _number(max(1, inner.itemsize) * math.prod(shape))
        return np.dtype((inner, shape))
    if not isinstance(spec, dict):
        raise TypeError(f"a dtype of {spec!r}")
    names, offsets, size = spec["names"], spec["offsets"], _number(spec["itemsize"])
    formats = [dtype_of(one, depth - 1) for one in spec["formats"]]
    if not all(isinstance(name, str) for name in names):
        raise TypeError("names are text")
    end = 0
    for offset, one in zip(offsets, formats, strict=True):
        if _number(offset) < end:
            raise ValueError("fields that overlap")
        end = offset + one.itemsize
    if end > size:
        raise ValueError(f"fields of {end} bytes in a struct of {size}")
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})


_INTEGERS = {
    "bool": "?",
    "char": "i1",
    "signed char": "i1",
    "unsigned char": "u1",
    "short": "i2",
    "unsigned short": "u2",
    "int": "i4",
    "unsigned int": "u4",
    "long": "i8",
    "unsigned long": "u8",
    "long long": "i8",
    "unsigned long long": "u8",
}
_TYPES = {"half": "f2", "__half": "f2", "float": "f4", "double": "f8", **_INTEGERS}


def dtype_of_type(name: str, size: int, pointer: bool) -> np.dtype[Any] | None:
    """The dtype for a C type's name; None where it is unknown or has another size."""
    spelled = _TYPES.get(name)
    if spelled is None:
        return None
    found = np.dtype(spelled)
    return found if pointer or found.itemsize == size else None
