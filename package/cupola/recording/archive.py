# cupola/recording/archive.py - the zip file of a case: members are appended, read within limits.
"""Writes and reads the members of a case.

Each `Writer.append` adds members and a new directory behind all that the file has. So a process
that is killed leaves a file that ends with the members of its last complete step.
"""

from __future__ import annotations

import io
import os
import re
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

from cupola.exceptions import ArgumentValueError

_NAME = re.compile(
    r"case\.json|end\.json|images/[0-9a-f]{64}\.(json|bin)|data/[0-9a-f]{64}\.npy"
    r"|launches/[0-9]{6}(\.after)?\.json"
)
_END = b"PK\5\6"  # begins the record at the end of a zip's directory, of 22 bytes
_END_BYTES = 22
_MOST_ENDS = 256  # ends that are tried in a file that was cut
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError,
           ValueError, OverflowError)  # fmt: skip


class Writer:
    """A new file of a case.

    Parameters
    ----------
    path : path-like
        Replaced where it exists.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = open(path, "w+b")  # noqa: SIM115 - open until close()
        self.names: set[str] = set()

    def append(self, members: Mapping[str, Any]) -> None:
        """Add members, as contiguous bytes, that are not there yet."""
        end = self._file.seek(0, io.SEEK_END)
        with zipfile.ZipFile(self._file, "a", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.start_dir = end  # keeps the last directory, for readers of a cut file
            for name, content in members.items():
                if name in self.names:
                    continue
                with archive.open(name, "w", force_zip64=True) as member:
                    member.write(memoryview(content).cast("B"))
                self.names.add(name)
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Reader:
    """The members of a case.

    Parameters
    ----------
    path : path-like
    limit : int
        The most bytes that all members together can have, uncompressed.

    Attributes
    ----------
    cut : bool
        The file ends within a step that was not completed.

    Raises
    ------
    ArgumentValueError
        The file is no case, or its members exceed the limit.
    """

    def __init__(self, path: str | os.PathLike[str], limit: int) -> None:
        self.path = os.fspath(path)
        self.limit = limit
        self._file = open(path, "rb")  # noqa: SIM115 - open until close()
        try:
            self._archive, self.cut = self._opened()
            self._infos = self._checked()
        except BaseException:
            self._file.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def names(self) -> set[str]:
        """The members' names."""
        return set(self._infos)

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
        """The archive up to its last complete directory, and whether more bytes follow."""
        size = self._file.seek(0, io.SEEK_END)
        tried = 0
        for end in _ends(self._file, size):
            tried += 1
            if tried > _MOST_ENDS:
                break
            try:
                return zipfile.ZipFile(_Beginning(self._file, end)), end != size
            except _BROKEN:
                continue
        raise self.refuse("it has no complete directory of a zip file")

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


class _Beginning(io.RawIOBase):
    """The first bytes of a file, as a file."""

    def __init__(self, file: io.BufferedIOBase | Any, size: int) -> None:
        self._file, self._size, self._at = file, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise OSError("a place in front of the file")
        self._at = base + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        count = max(0, min(len(buffer), self._size - self._at))
        self._file.seek(self._at)
        content = self._file.read(count)
        buffer[: len(content)] = content
        self._at += len(content)
        return len(content)


def _ends(file: Any, size: int) -> Any:
    """The places behind each record of a directory's end, from the last to the first."""
    step = 1 << 20
    stop = size
    while stop > 0:
        start = max(0, stop - step)
        file.seek(start)
        block = file.read(min(size, stop + len(_END) - 1) - start)
        at = block.rfind(_END)
        while at >= 0:
            if start + at + _END_BYTES <= size:
                yield start + at + _END_BYTES
            at = block.rfind(_END, 0, at + len(_END) - 1)
        stop = start
