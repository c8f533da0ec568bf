# cupola/tools/debug/protocol.py - frames between the CPU device and a front end.
"""A frame is its size in four bytes, lowest first, and a payload.

A payload from the driver begins with ``!`` (an event, JSON), ``+`` (a reply) or ``-`` (the reason
of a refusal). csrc/cpu/debugger/request.hpp has the requests.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from typing import Any

from cupola.exceptions import Error

VERSION = 1
MAX_FRAME_BYTES = 64 << 20
Exchange = Callable[[bytes], bytes]  # a request's payload to the reply's


class Gone(Exception):
    """The program has closed its connection."""


class Requests:
    """Requests to the thread that runs a stopped launch."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def ask(self, word: str, *numbers: int, data: bytes = b"") -> bytes:
        """Return the reply.

        Raises
        ------
        Error
            The driver refused the request.
        """
        payload = " ".join([word, *map(str, numbers)]).encode()
        reply = self._exchange(payload + (b" " + data if data else b""))
        if reply[:1] != b"+":
            raise Error(f"the CPU device refused '{word}': {reply[1:].decode(errors='replace')}")
        return reply[1:]

    def ask_json(self, word: str, *numbers: int) -> Any:
        """Return the reply's value."""
        return json.loads(self.ask(word, *numbers))


class Connection:
    """A process that is debugged, at the other end of a socket."""

    def __init__(self, link: socket.socket) -> None:
        self.link = link
        self.requests = Requests(self._exchange)

    def send(self, payload: bytes) -> None:
        """Send a frame. Raises `Gone`."""
        try:
            self.link.sendall(len(payload).to_bytes(4, "little") + payload)
        except OSError as error:
            raise Gone from error

    def receive(self) -> bytes:
        """The next frame's payload. Raises `Gone`."""
        size = int.from_bytes(self._read(4), "little")
        if size > MAX_FRAME_BYTES:
            raise Gone
        return self._read(size)

    def event(self) -> dict[str, Any]:
        """The next event. Raises `Gone`."""
        payload = self.receive()
        if payload[:1] != b"!":
            raise Error("the CPU device sent a reply to no request")
        event: dict[str, Any] = json.loads(payload[1:])
        if event["event"] == "hello" and event["version"] != VERSION:
            raise Error(
                f"the program's CPU device has version {event['version']} of the debugger's "
                f"protocol, this cupola version {VERSION}: use one cupola for both"
            )
        return event

    def _exchange(self, payload: bytes) -> bytes:
        self.send(payload)
        return self.receive()

    def _read(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            try:
                part = self.link.recv(min(size - len(parts), 1 << 20))
            except OSError as error:
                raise Gone from error
            if not part:
                raise Gone
            parts += part
        return bytes(parts)
