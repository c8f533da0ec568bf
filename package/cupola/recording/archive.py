# cupola/recording/archive.py - the zip file of a case: members are appended, read within limits.
"""Writes and reads the members of a case.

The directory of the zip is written at the end. Each member's own header has its size before the
next member begins. So a reader finds the complete members of a file without a directory, which a
killed process leaves.
"""

from __future__ import annotations

import io
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from cupola.exceptions import ArgumentValueError

_NAME = re.compile(
    r"case\.json|end\.json|images/[0-9a-f]{64}\.(json|bin)|data/[0-9a-f]{64}\.npy"
    r"|launches/[0-9]{6}(\.after)?\.json"
)
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError,
           ValueError, OverflowError, struct.error)  # fmt: skip


class Writer:
    """A new file of a case.

    Parameters
    ----------
    path : path-like
        Replaced where it exists.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = open(path, "w+b")  # noqa: SIM115 - open until close()
        self._archive = zipfile.ZipFile(self._file, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
        self.names: set[str] = set()

    def append(self, members: Mapping[str, Any]) -> None:
        """Add members, as contiguous bytes, that are not there yet."""
        for name, content in members.items():
            if name in self.names:
                continue
            with self._archive.open(name, "w", force_zip64=True) as member:
                member.write(memoryview(content).cast("B"))
            self.names.add(name)
        self._file.flush()

    def close(self) -> None:
        """Write the directory, and close the file."""
        try:
            self._archive.close()
        finally:
            self._file.close()


class Held:
    """Members in memory, with the functions of a `Writer`."""

    def __init__(self) -> None:
        self.members: dict[str, Any] = {}

    @property
    def names(self) -> set[str]:
        """The names of the members."""
        return set(self.members)

    def append(self, members: Mapping[str, Any]) -> None:
        """Keep members that are not there yet."""
        self.members.update({name: one for name, one in members.items() if name not in self.names})

    def close(self) -> None:
        """Do nothing: there is no file."""


class Reader:
    """The members of a case.

    Parameters
    ----------
    path : path-like
    limit : int
        The most bytes that all members together can have, uncompressed.

    Attributes
    ----------
    names : frozenset of str
        The members' names.
    cut : bool
        The file has no directory: the process that wrote it has not completed it.

    Raises
    ------
    ArgumentValueError
        The file is no case, or its members exceed the limit.
    """

    def __init__(self, path: str | os.PathLike[str], limit: int) -> None:
        self.path = os.fspath(path)
        self.limit = limit
        self._file = open(path, "rb")  # noqa: SIM115 - closed with this object
        self._archive, self.cut = self._opened()
        self._infos = self._checked()
        self.names = frozenset(self._infos)

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()

    def refuse(self, reason: str) -> ArgumentValueError:
        """The error for a file that is no valid case."""
        return ArgumentValueError(
            f"{self.path} is no valid case: {reason}; record it again with cupola.record"
        )

    def read(self, name: str) -> bytes:
        """A member's bytes."""
        info = self._infos.get(name)
        if info is None:
            raise self.refuse(f"it lacks the member {name}")
        try:
            with self._archive.open(info) as member:
                content = member.read(info.file_size + 1)
        except _BROKEN as error:
            raise self.refuse(f"its member {name} can't be read ({error})") from None
        if len(content) != info.file_size:
            raise self.refuse(f"its member {name} has another size than the directory says")
        return content

    def _opened(self) -> tuple[zipfile.ZipFile, bool]:
        """The archive, and whether its directory is missing."""
        try:
            return zipfile.ZipFile(self._file), False
        except _BROKEN:
            size = self._file.seek(0, io.SEEK_END)
            found = list(_members(self._file, size))
        if not found:
            raise self.refuse("it has no complete member of a zip file")
        end = found[-1].end
        return zipfile.ZipFile(_Completed(self._file, end, _directory(found, end))), True

    def _checked(self) -> dict[str, zipfile.ZipInfo]:
        found: dict[str, zipfile.ZipInfo] = {}
        total = 0
        for info in self._archive.infolist():
            if not _NAME.fullmatch(info.filename):
                raise self.refuse(f"it has a member {info.filename[:80]!r}")
            if info.filename in found:
                raise self.refuse(f"it has two members {info.filename}")
            if info.flag_bits & 1 or info.compress_type not in (0, zipfile.ZIP_DEFLATED):
                raise self.refuse(f"its member {info.filename} is encrypted, or not deflated")
            total += info.file_size
            if total > self.limit:
                raise ArgumentValueError(
                    f"{self.path}: its members have more than {self.limit:,} bytes; if you trust "
                    "the file, read it with a larger limit (limit=, or --limit on the command line)"
                )
            found[info.filename] = info
        return found


class _Member(NamedTuple):
    """The header of a member, and its places in the file."""

    name: bytes
    flags: int
    method: int
    crc: int
    packed: int  # bytes in the file
    size: int  # bytes, uncompressed
    begin: int
    end: int


def _members(file: Any, size: int) -> Iterator[_Member]:
    """The complete members from the begin of a file on."""
    at = 0
    while at + 30 <= size:
        file.seek(at)
        mark, _, flags, method, _, _, crc, packed, plain, name, extra = struct.unpack(
            "<4s5H3I2H", file.read(30)
        )
        if mark != b"PK\3\4" or flags & 8:  # 8: the sizes follow the contents
            return
        spelled, more = file.read(name), file.read(extra)
        if more[:4] == b"\1\0\x10\0" and len(more) >= 20:
            plain, packed = struct.unpack("<2Q", more[4:20])
        end = at + 30 + name + extra + packed
        if end > size or not plain:  # the sizes of a member that was cut are still 0
            return
        yield _Member(spelled, flags, method, crc, packed, plain, at, end)
        at = end


def _directory(members: list[_Member], begin: int) -> bytes:
    """A zip's directory of these members, which begins at a place of the file."""
    most = 0xFFFFFFFF  # the value is among the 64-bit fields
    entries = b"".join(
        b"PK\1\2"
        + struct.pack("<6H", 45, 45, one.flags, one.method, 0, 33)
        + struct.pack("<3I5H2I", one.crc, most, most, len(one.name), 28, 0, 0, 0, 0, most)
        + one.name
        + struct.pack("<2H3Q", 1, 24, one.size, one.packed, one.begin)
        for one in members
    )
    count = len(members)
    return b"".join(
        (
            entries,
            struct.pack(
                "<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, len(entries), begin
            ),
            struct.pack("<4sIQI", b"PK\6\7", 0, begin + len(entries), 1),
            struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, most, most, 0),
        )
    )


class _Completed(io.RawIOBase):
    """The first bytes of a file, with other bytes behind them."""

    def __init__(self, file: Any, size: int, rest: bytes) -> None:
        self._file, self._size, self._rest, self._at = file, size, rest, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        whole = self._size + len(self._rest)
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: whole}[whence]
        if base + offset < 0:
            raise OSError("a place in front of the file")
        self._at = base + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        if self._at < self._size:
            self._file.seek(self._at)
            content = self._file.read(min(len(buffer), self._size - self._at))
        else:
            start = self._at - self._size
            content = self._rest[start : start + len(buffer)]
        buffer[: len(content)] = content
        self._at += len(content)
        return len(content)
