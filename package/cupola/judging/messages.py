# cupola/judging/messages.py - messages between the judge and its processes: JSON and bytes.
"""Messages on a socket. Nothing in them is more than data: no pickles, no code.

A message is two lengths, an object in JSON, and pieces of bytes whose lengths that object has.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Sequence
from typing import Any

_LENGTHS = struct.Struct("<QQ")
MOST_JSON = 8 << 20


class MessageError(Exception):
    """The other side ended, sent nothing in time, or sent no valid message."""


def send(to: socket.socket, header: dict[str, Any], pieces: Sequence[Any] = ()) -> None:
    """Send an object, and pieces of bytes."""
    views = [memoryview(one).cast("B") if len(one) else memoryview(b"") for one in pieces]
    text = json.dumps({**header, "pieces": [len(one) for one in views]}).encode()
    try:
        to.sendall(_LENGTHS.pack(len(text), sum(map(len, views))) + text)
        for one in views:
            to.sendall(one)
    except OSError as error:
        raise MessageError(f"the process has ended ({error})") from None


def receive(
    source: socket.socket, most: int, seconds: float | None = None
) -> tuple[dict[str, Any], list[bytearray]]:
    """Receive an object, and its pieces.

    Parameters
    ----------
    source : socket.socket
    most : int
        The most bytes of all pieces.
    seconds : float, optional
        The time for the whole message.

    Raises
    ------
    MessageError, TimeoutError
    """
    end = None if seconds is None else time.monotonic() + seconds
    length, total = _LENGTHS.unpack(_read(source, _LENGTHS.size, end))
    if length > MOST_JSON or total > most:
        raise MessageError(f"a message of {length} and {total} bytes is too long")
    try:
        header = json.loads(_read(source, length, end))
        sizes = header.pop("pieces")
        valid = all(type(one) is int and one >= 0 for one in sizes) and sum(sizes) == total
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        valid = False
    if not valid:
        raise MessageError("a message is no JSON object, or has other pieces than it names")
    return header, [_read(source, one, end) for one in sizes]


def _read(source: socket.socket, size: int, end: float | None) -> bytearray:
    found = bytearray(size)
    view, at = memoryview(found), 0
    while at < size:
        if end is not None:
            source.settimeout(max(end - time.monotonic(), 0.001))
        try:
            count = source.recv_into(view[at:])
        except TimeoutError:
            raise
        except OSError as error:
            raise MessageError(f"the process has ended ({error})") from None
        if not count:
            raise MessageError("the process has ended")
        at += count
    return found
