# cupola/recording/spool.py - the records that the recording driver wrote.
"""Reads spools, which may be cut and are trusted in nothing."""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from cupola.exceptions import ArgumentValueError

_MAGIC = b"cupola spool 1\n"
# csrc/dropin/recorder/spool.hpp has the same numbers.
_DEVICE, _IMAGE, _DATA, _LAUNCH, _AFTER, _LEFT_OUT, _END = range(1, 8)
_MOST_PIECES = 1 << 20
_MOST_BYTES = 1 << 48


@dataclass(frozen=True)
class SpoolPiece:
    """A whole allocation, or a variable, with its contents."""

    begin: int  # the address
    nbytes: int
    variable: str  # its name; "" for an allocation
    before: Any  # bytes
    after: Any = None  # bytes, or None where the spool has none


@dataclass(frozen=True)
class SpoolLaunch:
    """A launch with the memory around it."""

    image: int  # the number of the image
    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    attributes: tuple[Any, ...] | None
    packed: bytes
    parameters: list[tuple[int, int]]  # offsets and sizes
    pieces: list[SpoolPiece]
    error: str = ""  # of the driver, where the launch failed
    finished: bool = False  # whether the spool has the outcome


@dataclass
class Spool:
    """The records of a process."""

    path: str
    device: tuple[str, int, int] = ("", 0, 0)  # the name, and the compute capability
    images: dict[int, bytes] = field(default_factory=dict)
    launches: list[SpoolLaunch] = field(default_factory=list)
    left_out: list[tuple[str, str, int]] = field(default_factory=list)  # kernel, reason, count
    complete: bool = False  # the process ended by itself
    stopped: str = ""


class _Fields:
    """The fields of a record, one after the other."""

    def __init__(self, content: Any) -> None:
        self._content, self._at = content, 0

    def number(self, most: int = _MOST_BYTES) -> int:
        found = self.any_number()
        if found > most:
            raise ValueError(f"a number {found}")
        return found

    def any_number(self) -> int:
        (found,) = struct.unpack_from("<Q", self._content, self._at)
        self._at += 8
        return int(found)

    def signed(self) -> int:
        found = self.any_number()
        found -= (found >> 63) << 64
        if not -(1 << 31) <= found < 1 << 31:
            raise ValueError(f"a number {found}")
        return found

    def content(self) -> bytes:
        size = self.number()
        end = self._at + size
        if end > len(self._content):
            raise ValueError("a text that is cut")
        found = bytes(self._content[self._at : end])
        self._at = end
        return found

    def text(self) -> str:
        return self.content().decode("utf-8", "replace")


def read_spool(path: str | os.PathLike[str]) -> Spool:
    """Read a spool up to its end, or up to the record that is cut.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    Spool
        Contents of memory are views of the file, which stays mapped.

    Raises
    ------
    ArgumentValueError
        The file is no spool, or a record of it contradicts another one.
    """
    made = Spool(os.fspath(path))
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < len(_MAGIC) or file.read(len(_MAGIC)) != _MAGIC:
            raise ArgumentValueError(f"{made.path} is no spool of the recording driver")
        content = memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ))
    try:
        _fill(made, _records(content))
    except (ValueError, struct.error, KeyError, IndexError) as error:
        raise ArgumentValueError(
            f"{made.path} is no valid spool: {error}; record the program again"
        ) from None
    return made


def _records(content: memoryview) -> Iterator[tuple[int, memoryview]]:
    at = len(_MAGIC)
    while at + 16 <= len(content):
        kind, size = struct.unpack_from("<2Q", content, at)
        if size > len(content) - at - 16:
            return
        yield kind, content[at + 16 : at + 16 + size]
        at += 16 + size


def _fill(made: Spool, records: Iterator[tuple[int, memoryview]]) -> None:
    data: list[memoryview] = []
    for kind, content in records:
        fields = _Fields(content)
        if kind == _DEVICE:
            made.device = fields.text(), fields.number(1000), fields.number(1000)
        elif kind == _IMAGE:
            number = fields.number()
            made.images[number] = fields.content()
        elif kind == _DATA:
            data.append(content)
        elif kind == _LAUNCH:
            launch = _launch(fields, data)
            made.images[launch.image]  # raises where the image is missing
            made.launches.append(launch)
            data = []
        elif kind == _AFTER:
            if not made.launches or made.launches[-1].finished:
                raise ValueError("an outcome without a launch")
            made.launches[-1] = _finished(made.launches[-1], fields.text(), data)
            data = []
        elif kind == _LEFT_OUT:
            made.left_out.append((fields.text(), fields.text(), fields.number()))
        elif kind == _END:
            made.complete, made.stopped = True, fields.text()
        else:
            raise ValueError(f"a record of kind {kind}")


def _launch(fields: _Fields, data: list[memoryview]) -> SpoolLaunch:
    image, kernel = fields.number(), fields.text()
    shape, packed = _Fields(fields.content()), fields.content()
    count = fields.number(len(packed))
    parameters = [(fields.number(), fields.number()) for _ in range(count)]
    if any(offset + size > len(packed) for offset, size in parameters):
        raise ValueError("a parameter outside of the arguments")
    count = fields.number(_MOST_PIECES)
    if count != len(data):
        raise ValueError(f"{count} pieces of memory, and the contents of {len(data)}")
    pieces = []
    for before in data:
        begin, nbytes, variable = fields.any_number(), fields.number(), fields.text()
        if len(before) != nbytes or not nbytes:
            raise ValueError(f"{len(before)} bytes for a piece of {nbytes}")
        pieces.append(SpoolPiece(begin, nbytes, variable, before))
    x, y, z, bx, by, bz, shared = (shape.number(1 << 31) for _ in range(7))
    cluster = tuple(shape.number(1 << 31) for _ in range(3))
    flags, priority, carveout = shape.number(1 << 31), shape.signed(), shape.signed()
    attributes = (cluster, flags, priority, carveout) if any(cluster) or flags else None
    return SpoolLaunch(
        image, kernel, (x, y, z), (bx, by, bz), shared, attributes, packed, parameters, pieces
    )


def _finished(launch: SpoolLaunch, error: str, data: list[memoryview]) -> SpoolLaunch:
    pieces = launch.pieces
    if not error:
        if len(data) != len(pieces):
            raise ValueError(f"{len(pieces)} pieces of memory, and the contents of {len(data)}")
        for piece, after in zip(pieces, data, strict=True):
            if len(after) != piece.nbytes:
                raise ValueError(f"{len(after)} bytes for a piece of {piece.nbytes}")
        pieces = [replace(one, after=after) for one, after in zip(pieces, data, strict=True)]
    return replace(launch, pieces=pieces, error=error, finished=True)
