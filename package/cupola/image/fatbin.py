# package/cupola/image/fatbin.py - takes fatbins apart into entries, and joins entries to fatbins.
"""Entries of fatbins with all of their bytes, for builds that join or divide images."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..exceptions import ImageError
from . import reader

_HEADER = struct.Struct("<IHHQ")  # magic, version, size of this header, size of the entries
_SIZES = struct.Struct("<4xIQ")  # fields of an entry's header: its size, and the size of the code
# The header of an entry of PTX: kind, version, sizes of header and code, of compressed code, place
# of the options' offset. Then the version of the code, architecture, offset and size of a name,
# flags, unpacked size. Behind it are the offset and the size of the options for ptxas, and their
# text.
_PTX = struct.Struct("<HHIQIIHHIIIQQQIIQ")
_OPTIONS, _TEXT = 64, 72  # the places of the last three fields
_LINUX = 0x11  # flags: 64-bit code for Linux
_INDEX = 8  # a packed fatbin begins with a skippable frame: 8 bytes, then the index
_TAG = 8  # bytes before the fatbin's header in the index


class Piece(NamedTuple):
    """An entry of a fatbin."""

    kind: str  # as in `reader.Entry`
    architecture: int
    variant: str  # "a" or "f" of sm_90a or sm_100f
    header: bytes
    code: bytes  # with the padding

    @property
    def name(self) -> str:
        """``sm_90a`` or ``compute_75``."""
        prefix = {"cubin": "sm", "ptx": "compute"}.get(self.kind, self.kind)
        return f"{prefix}_{self.architecture}{self.variant}"

    @property
    def place(self) -> tuple[bool, bool, int, str]:
        """The sort key of the entry: machine code first and PTX last, then by number and suffix."""
        return self.kind == "ptx", self.kind != "cubin", self.architecture, self.variant


def pieces(image: bytes) -> list[Piece]:
    """The entries of a fatbin, which may be packed, in their order.

    Raises
    ------
    ImageError
        The bytes are no fatbin, or damaged.
    """
    entries = reader.read_fatbin(image)
    found = []
    for entry, header in zip(entries, _headers(image), strict=True):
        _, size = _SIZES.unpack_from(header)
        code = entry.payload.ljust(size, b"\0")
        if len(code) != size:
            raise ImageError(f"the code for {entry.target} is compressed by its compiler")
        found.append(Piece(entry.kind, entry.architecture, entry.variant, header, code))
    return found


def _headers(image: bytes) -> Iterator[bytes]:
    """The header of each entry. `reader.read_fatbin` has checked the sizes."""
    if packed := reader.is_packed(image):
        (size,) = struct.unpack_from("<I", image, 4)
        image = image[_INDEX + _TAG : _INDEX + size]
    at, end = _HEADER.size, len(image)
    if not packed:
        _, _, at, size = _HEADER.unpack_from(image)
        end = at + size
    while at < end:
        header, size = _SIZES.unpack_from(image, at)
        yield image[at : at + header]
        at += header + (0 if packed else size)


def of_ptx(text: bytes, architecture: int) -> bytes:
    """A fatbin, not packed, with a PTX text alone."""
    code = text + bytes(-len(text) % 8 or 8)  # the text ends with a NUL
    header = _PTX.pack(
        1, 0x101, _PTX.size, len(code), 0, _OPTIONS, 0, 0, architecture, 0, 0, _LINUX, 0, 0, _TEXT,
        0, 0,
    )  # fmt: skip
    return joined([Piece("ptx", architecture, "", header, code)])


def joined(given: Iterable[Piece]) -> bytes:
    """A fatbin, not packed, with these entries in the order of `Piece.place`. So the bytes do not
    depend on the order in which a compiler made the entries.
    """
    entries = sorted(given, key=lambda piece: piece.place)
    content = b"".join(piece.header + piece.code for piece in entries)
    return _HEADER.pack(0xBA55ED50, 1, _HEADER.size, len(content)) + content
