# cupola/manifest.py - what the file beside an image tells of its kernels.
"""Manifests of images, as `cupola.build.manifest` writes them.

They come with an image from wherever that came from: nothing in them is believed that does not
have the right form, and where sizes or offsets are not those of the image the kernel is refused.
A library can have many kernels, of which few are used: what is told of one is read when it is asked
for, provided that the manifest has a line for each, as those that cupola writes do.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from cupola.exceptions import ImageError

FORMAT = 1
_MOST = 1 << 16  # bytes of parameters, which no kernel has
_HEAD, _TAIL = b'"kernels": [\n', b"}\n]}\n"
_NAME = b'{"name": '
_SCALAR = re.compile(r"\|b1|\|[iuV]1|<[iu][248]|<f[248]|\|V\d{1,5}")
_MALFORMED = (
    ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, OverflowError
)  # fmt: skip


class Parameter(NamedTuple):
    """What a manifest tells of a parameter."""

    name: str
    kind: str  # as cupola.module knows it
    type: str  # of a pointer, what it points to
    offset: int
    size: int
    dtype: np.dtype[Any] | None  # of a value, or of what a pointer leads to
    restrict: bool


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
        Where it is malformed, or of a format which this version does not know; what is told of one
        kernel, when it is asked for.
    """

    def __init__(self, text: bytes, place: str) -> None:
        self.text, self.place = text, place
        self._read: dict[str, list[Parameter]] = {}
        self._whole: dict[str, dict[str, Any]] | None = None
        try:
            at = text.find(_HEAD)
            # Whether each has a line, so that one is found without reading the others.
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
        """All kernels by name, as JSON has them."""
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
        """All that is told of a kernel, as JSON has it.

        Raises
        ------
        KeyError
            There is none of that name.
        """
        try:
            line = self._line(name) if self._lines and self._whole is None else None
            kernel = self._kernels()[name] if line is None else json.loads(line)
            if not isinstance(kernel, dict):
                raise TypeError(f"a kernel is told by {type(kernel).__name__}")
            return kernel
        except _MALFORMED as error:
            if isinstance(error, KeyError) and error.args == (name,):
                raise
            raise self._malformed(error, name) from error

    @property
    def head(self) -> dict[str, Any]:
        """What is told of the image as a whole."""
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


def parameter(given: dict[str, Any]) -> Parameter:
    """One parameter; raises KeyError, TypeError or ValueError where it is none."""
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
    return Parameter(name, kind, type_name, offset, size, dtype, restrict)


def _number(given: Any) -> int:
    if type(given) is not int or not 0 <= given < _MOST:
        raise ValueError(f"an offset or size of {given!r}")
    return given


def dtype_of(spec: Any, depth: int = 16) -> np.dtype[Any]:
    """NumPy's dtype of what `cupola.build.layout` describes.

    Raises
    ------
    KeyError, TypeError, ValueError
        It is none, or none that C has: parts that overlap or stick out.
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
    """Of a type by its name; None where that does not tell, or is not of this size."""
    spelled = _TYPES.get(name)
    if spelled is None:
        return None
    found = np.dtype(spelled)
    return found if pointer or found.itemsize == size else None


def difference(given: np.dtype[Any], wanted: np.dtype[Any]) -> str:
    """Where the values of one struct lie otherwise than those of another; "" where nowhere.

    Names don't matter, nor do bytes that are told no more of; signed integers pass for unsigned.
    """
    known = dict(_leaves(wanted, 0, ""))
    taken = {byte: at for at, (one, _) in known.items() for byte in range(at, at + one.itemsize)}
    for at, (one, name) in _leaves(given, 0, ""):
        for byte in range(at, at + one.itemsize):
            if byte not in taken:
                continue
            other, meant = known[taken[byte]]
            if taken[byte] != at or other.itemsize != one.itemsize or _kind(other) != _kind(one):
                return f"in which {name} is {one} at {at}, not {meant} of {other}"
            break
    return ""


def _leaves(
    dtype: np.dtype[Any], at: int, name: str
) -> Iterator[tuple[int, tuple[np.dtype[Any], str]]]:
    """The numbers that a struct is made of, by their offsets."""
    if dtype.itemsize == 0:
        return
    if dtype.subdtype is not None:
        inner, shape = dtype.subdtype
        for i in range(math.prod(shape)):
            yield from _leaves(inner, at + i * inner.itemsize, name)
    elif dtype.fields is not None:
        for field, (inner, offset, *_) in dtype.fields.items():
            yield from _leaves(inner, at + offset, f"{name}.{field}" if name else field)
    elif dtype.kind != "V":
        yield at, (dtype, name)


def _kind(dtype: np.dtype[Any]) -> str:
    return {"u": "i", "b": "i"}.get(dtype.kind, dtype.kind)
