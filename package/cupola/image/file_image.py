# cupola/image/file_image.py - a kernel image that stays in its file.
"""Images in files."""

from __future__ import annotations

import io
import mmap
import os

from cupola.exceptions import ImageError


class FileImage:
    """An image that stays in its file: mapped while it is loaded, and read when needed, for example
    for a pickle. The file may be removed or replaced, but not overwritten.
    """

    def __init__(self, file: io.FileIO) -> None:
        self._file = file
        self._state = self._now()

    def _now(self) -> tuple[int, int]:
        state = os.fstat(self._file.fileno())
        return state.st_size, state.st_mtime_ns

    def map(self) -> mmap.mmap:
        """The file's bytes, mapped into memory; do not keep the result."""
        self._check()
        flags = mmap.MAP_PRIVATE | getattr(mmap, "MAP_POPULATE", 0)
        return mmap.mmap(self._file.fileno(), self._state[0], flags, mmap.PROT_READ)

    def read(self) -> bytes:
        """The loaded bytes.

        Raises
        ------
        ImageError
            Where the file was overwritten after it was loaded.
        """
        pieces, size = [], 0
        while piece := os.pread(self._file.fileno(), self._state[0] - size, size):
            pieces.append(piece)
            size += len(piece)
        self._check()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _check(self) -> None:
        if self._now() != self._state:
            raise ImageError(
                f"{self._file.name} was overwritten after it was loaded, and no copy "
                "exists: load it again, or load its bytes"
            )
