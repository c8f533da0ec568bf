# cupola/recording/case.py - the case in a file.
"""The launches of a case."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cupola.exceptions import ArgumentValueError
from cupola.recording.archive import Reader
from cupola.recording.launches import (
    Contents,
    Launch,
    number_of,
    read_array,
    read_image,
    read_json,
    read_launch,
    text_of,
)

__all__ = ["Case", "read"]

FORMAT, VERSION = "cupola case", 1
LIMIT = 1 << 32  # bytes that a reader takes by default


@dataclass
class Case:
    """A file of recorded launches; made by `read`.

    Attributes
    ----------
    file : str
    device : dict
        ``name`` and ``compute_capability`` of the device on which it was recorded.
    launches : list of Launch
    complete : bool
        False: the recording process ended before `cupola.record` did.
    stopped : str
        Why the recording ended early; "" where it did not.
    left_out : list of dict
        Launches that were not recorded: ``kernel``, ``reason`` and ``count``.
    """

    file: str
    device: dict[str, Any]
    launches: list[Launch]
    complete: bool
    stopped: str
    left_out: list[dict[str, Any]]
    images: dict[str, dict[str, Any]] = field(repr=False)
    _reader: Reader = field(repr=False)

    def array(self, digest: str) -> np.ndarray[Any, Any]:
        """The bytes of a member as a writable array of uint8 with one axis."""
        return read_array(self._reader, digest)

    def pointers(self, contents: Contents) -> np.ndarray[Any, Any]:
        """The rows of the addresses among the contents: offset, piece, offset in the piece."""
        if not contents.pointers:
            return np.empty((0, 3), np.int64)
        rows = self.array(contents.pointers)
        if rows.size % 24:
            raise self._reader.refuse(f"{rows.size} bytes are no rows of three numbers")
        return rows.view(np.int64).reshape(-1, 3)

    def image(self, digest: str) -> bytes:
        """The bytes of an image."""
        name = self.images[digest]["image"]
        content = self._reader.read(f"images/{name}.bin")
        if hashlib.sha256(content).hexdigest() != name:
            raise self._reader.refuse(f"the image {digest} was altered")
        return content


def read(path: str | os.PathLike[str], *, limit: int = LIMIT) -> Case:
    """Read what a case says of its launches.

    Parameters
    ----------
    path : path-like
        A file of `cupola.record`.
    limit : int
        The most bytes that its members together can have, uncompressed.

    Returns
    -------
    Case

    Raises
    ------
    ArgumentValueError
        The file is no valid case, is of a later version, or exceeds the limit.
    """
    reader = Reader(path, limit)
    head = read_json(reader, "case.json")
    try:
        if head.get("format") != FORMAT:
            raise ValueError(f"its format is {head.get('format')!r}")
        if head.get("version") != VERSION:
            raise ArgumentValueError(
                f"{reader.path} has version {head.get('version')!r} of the format; this "
                f"cupola reads version {VERSION}: replay it with the cupola that recorded it"
            )
        names = reader.names
        launches = [
            read_launch(reader, name) for name in sorted(names)
            if name.startswith("launches/") and not name.endswith(".after.json")
        ]  # fmt: skip
        if [one.index for one in launches] != list(range(len(launches))):
            raise ValueError("its launches have not the numbers from 0 on")
        end = read_json(reader, "end.json") if "end.json" in names else {}
        left_out = [
            {"kernel": text_of(one["kernel"]), "reason": text_of(one["reason"]),
             "count": number_of(one["count"])}
            for one in end.get("left_out", [])
        ]  # fmt: skip
        images = {one.image: read_image(reader, one.image) for one in launches}
        device = {
            "name": text_of(head["device"]["name"]),
            "compute_capability": text_of(head["device"]["compute_capability"]),
        }
        stopped = text_of(end.get("stopped", ""))
    except ArgumentValueError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise reader.refuse(f"{type(error).__name__}: {error}") from None
    return Case(reader.path, device, launches, bool(end), stopped, left_out, images, reader)
