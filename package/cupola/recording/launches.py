# cupola/recording/launches.py - what a case says of a launch, checked when it is read.
"""Reads the descriptions of launches and images, which are trusted in nothing."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cupola.recording.archive import Reader

_MOST_TEXT = 64 << 20  # bytes of a member of JSON
_DIMENSION = 2**31
_BYTES = 1 << 48


@dataclass(frozen=True)
class Contents:
    """The bytes of a piece of memory, and the addresses among them."""

    data: str  # the SHA-256 of the bytes
    # Rows of offset, index of the piece of memory, offset in that piece; "" where there are none.
    pointers: str


@dataclass(frozen=True)
class Piece:
    """A whole allocation, or a variable of the module."""

    variable: bool
    name: str  # of the variable, or of an argument that leads to the allocation
    at: int  # the offset to which that argument points
    nbytes: int
    dtype: str  # of the elements, or ""
    before: Contents
    after: Contents | None = None


@dataclass(frozen=True)
class Launch:
    """A recorded launch."""

    index: int
    kernel: str
    title: str
    image: str  # the digest under which the case has the image
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared: int
    attributes: tuple[Any, ...] | None
    packed: bytes
    pointers: tuple[tuple[int, int, int], ...]  # as those of Contents, in `packed`
    memory: tuple[Piece, ...]
    error: str = ""  # of the driver, where the launch failed
    finished: bool = False  # whether the case has the contents after the launch
    arguments: tuple[Mapping[str, Any], ...] = ()  # names and types, for people


def read_json(reader: Reader, name: str) -> dict[str, Any]:
    """The object of a member of JSON."""
    content = reader.read(name)
    if len(content) > _MOST_TEXT:
        raise reader.refuse(f"its member {name} has {len(content):,} bytes")
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise reader.refuse(f"its member {name} is no JSON ({error})") from None
    if not isinstance(found, dict):
        raise reader.refuse(f"its member {name} is no JSON object")
    return found


def read_array(reader: Reader, digest: str) -> np.ndarray[Any, Any]:
    """An array of bytes with one axis: no other form is read."""
    content = reader.read(f"data/{digest}.npy")
    stream = io.BytesIO(content)
    try:
        if np.lib.format.read_magic(stream) != (1, 0):
            raise ValueError("another version of .npy than 1.0")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    except ValueError as error:
        raise reader.refuse(f"its array {digest} is no .npy ({error})") from None
    body = len(content) - stream.tell()
    if dtype != np.dtype(np.uint8) or fortran or shape != (body,):
        raise reader.refuse(
            f"its array {digest} has dtype {dtype}, shape {shape} and {body} bytes: expected "
            "uint8 with one axis"
        )
    if hashlib.sha256(memoryview(content)[stream.tell() :]).hexdigest() != digest:
        raise reader.refuse(f"the array {digest} was altered")
    return np.frombuffer(content, np.uint8, offset=stream.tell()).copy()


def read_image(reader: Reader, digest: str) -> dict[str, Any]:
    """The description of an image."""
    found = read_json(reader, f"images/{digest}.json")
    keys = "image", "name", "manifest", "ptx", "code"
    kept: dict[str, Any] = {key: text_of(found[key]) for key in keys}
    kept.update({key: _texts(found[key]) for key in ("names", "signatures")})
    kept["types"] = {
        text_of(name): (text_of(mangled), [text_of(one) for one in names])
        for name, (mangled, names) in found["types"].items()
    }
    _digest(kept["image"])
    return kept


def read_launch(reader: Reader, name: str) -> Launch:
    """A launch, by the name of its member."""
    found = read_json(reader, name)
    after: dict[str, Any] = {}
    if (later := name.replace(".json", ".after.json")) in reader.names:
        after = read_json(reader, later)
    contents = after.get("memory")
    memory = [_piece(reader, one) for one in found["memory"]]
    if (total := sum(piece.nbytes for piece in memory)) > reader.limit:
        raise reader.refuse(
            f"the memory of {name} has {total:,} bytes, and the limit is {reader.limit:,}"
        )
    if contents is not None:
        memory = [
            _with_after(reader, piece, one) for piece, one in zip(memory, contents, strict=True)
        ]
    packed = bytes.fromhex(text_of(found["packed"]))
    attributes = found["attributes"]
    if attributes is not None:
        cluster, flags, priority, carveout = attributes
        attributes = (
            _axes(cluster, 0), number_of(flags, 1 << 32), _signed(priority), _signed(carveout)
        )  # fmt: skip
    return Launch(
        number_of(found["index"]), text_of(found["kernel"]), text_of(found["title"]),
        _digest(found["image"]), _axes(found["grid"]), _axes(found["block"]),
        number_of(found["shared"]), attributes, packed,
        tuple(_row(row, len(packed), memory) for row in found["pointers"]), tuple(memory),
        text_of(after.get("error", "")), contents is not None, tuple(found["arguments"]),
    )  # fmt: skip


def _piece(reader: Reader, found: dict[str, Any]) -> Piece:
    variable, nbytes = found["variable"], number_of(found["nbytes"], _BYTES)
    if type(variable) is not bool or not nbytes:
        raise ValueError(f"a piece of memory of {nbytes} bytes")
    dtype = text_of(found["dtype"])
    if dtype and np.dtype(dtype).kind not in "biufc":
        raise ValueError(f"elements of dtype {dtype!r}")
    return Piece(
        variable, text_of(found["name"]), number_of(found["at"], _BYTES), nbytes, dtype,
        _contents(found["before"], reader),
    )  # fmt: skip


def _with_after(reader: Reader, piece: Piece, found: dict[str, Any]) -> Piece:
    return replace(piece, after=_contents(found, reader))


def _contents(found: dict[str, Any], reader: Reader) -> Contents:
    made = Contents(_digest(found["data"]), text_of(found["pointers"]))
    for digest in filter(None, (made.data, made.pointers)):
        if f"data/{_digest(digest)}.npy" not in reader.names:
            raise ValueError(f"no member data/{digest}.npy")
    return made


def _row(row: Any, size: int, memory: list[Piece]) -> tuple[int, int, int]:
    offset, index, at = (number_of(one, _BYTES) for one in row)
    if offset + 8 > size or index >= len(memory) or at > memory[index].nbytes:
        raise ValueError(f"an address {row!r} outside of its memory")
    return offset, index, at


def _axes(found: Any, least: int = 1) -> tuple[int, ...]:
    x, y, z = (number_of(axis) for axis in found)
    if min(x, y, z) < least:
        raise ValueError(f"dimensions {found!r}")
    return x, y, z


def number_of(found: Any, most: int = _DIMENSION) -> int:
    """A whole number from 0 on, below a bound."""
    if type(found) is not int or not 0 <= found < most:
        raise ValueError(f"a number {str(found)[:40]}")
    return found


def _signed(found: Any) -> int:
    return -number_of(-found) if type(found) is int and found < 0 else number_of(found)


def text_of(found: Any) -> str:
    """A text."""
    if not isinstance(found, str):
        raise TypeError(f"{type(found).__name__} in place of a text")
    return found


def _texts(found: Any) -> dict[str, str]:
    return {text_of(key): text_of(value) for key, value in found.items()}


def _digest(found: Any) -> str:
    if not isinstance(found, str) or len(found) != 64 or set(found) - set("0123456789abcdef"):
        raise ValueError(f"a digest {str(found)[:80]!r}")
    return found
