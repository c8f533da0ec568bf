# cupola/tools/debug/dap_messages.py - messages of the Debug Adapter Protocol.
"""Reads and writes messages: a header with ``Content-Length``, and JSON."""

from __future__ import annotations

import io
import json
import threading
from typing import Any, BinaryIO

MAX_BYTES = 64 << 20


class Messages:
    """The two streams to a client. Writing is safe in several threads.

    The reader has no buffer: the lock of one would block the end of the process beside a thread
    that reads.
    """

    def __init__(self, reader: io.RawIOBase, writer: BinaryIO) -> None:
        self._reader, self._writer = reader, writer
        self._lock = threading.Lock()
        self._last = 0

    def read(self) -> dict[str, Any] | None:
        """The next message; None at the end of the stream, or of what can be read."""
        size = 0
        while line := self._reader.readline(1000):
            name, _, value = line.partition(b":")
            if not line.strip():
                break
            if name.lower() == b"content-length" and value.strip().isdigit():
                size = int(value)
        if not 0 < size <= MAX_BYTES:
            return None
        data = bytearray()
        while len(data) < size:
            part = self._reader.read(size - len(data))
            if not part:
                return None
            data += part
        try:
            message = json.loads(data)
        except (ValueError, RecursionError):
            return None
        return message if isinstance(message, dict) else None

    def _write(self, message: dict[str, Any]) -> None:
        with self._lock:
            self._last += 1
            data = json.dumps({"seq": self._last, **message}).encode()
            try:
                self._writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(data), data))
                self._writer.flush()
            except OSError:
                pass  # the client has gone; the reading thread notices this

    def event(self, name: str, **body: Any) -> None:
        """Send an event."""
        self._write({"type": "event", "event": name, "body": body})

    def respond(self, request: dict[str, Any], body: dict[str, Any] | None = None) -> None:
        """Answer a request."""
        self._respond(request, True, body=body or {})

    def refuse(self, request: dict[str, Any], why: str) -> None:
        """Answer a request with the reason why it is not done."""
        self._respond(request, False, message=why)

    def _respond(self, request: dict[str, Any], success: bool, **rest: Any) -> None:
        number, command = request.get("seq", 0), request.get("command", "")
        self._write(
            {"type": "response", "request_seq": number, "command": command, "success": success}
            | rest
        )
