# cupola/tools/timeline/tracks.py - numbers and names of the rows of a profile.
"""The rows of a profile: threads and streams."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from cupola.core.result_types import Operation
from cupola.device import Device

_PER_THREAD = 2  # the driver's handle of each thread's own default stream


class Tracks:
    """Numbers and names of rows: streams below their device, threads below the host."""

    def __init__(self, names_of_threads: dict[int, str]) -> None:
        self.names_of_threads = names_of_threads
        self.threads: list[int] = []
        self.streams: dict[int, list[tuple[int, int]]] = {}  # by device

    def of_thread(self, operation: Operation) -> tuple[int, int]:
        if operation.thread not in self.threads:
            self.threads.append(operation.thread)
        return 0, operation.thread

    def of_stream(self, operation: Operation) -> tuple[int, int] | None:
        if operation.device is None or operation.begin is None:
            return None
        own = operation.thread if operation.stream == _PER_THREAD else 0
        stream = (max(operation.stream, 1), own)  # 0 and 1 are the same
        known = self.streams.setdefault(operation.device, [])
        if stream not in known:
            known.append(stream)
        return 1 + operation.device, known.index(stream)

    def name_of_thread(self, thread: int) -> str:
        return self.names_of_threads.get(thread, f"thread {thread}")

    def name_of_stream(self, device: int, number: int) -> str:
        handle, thread = self.streams[device][number]
        if handle == _PER_THREAD:
            return f"default stream of {self.name_of_thread(thread)}"
        return "default stream" if handle == 1 else f"stream {number} ({handle:#x})"

    def names(self) -> Iterator[dict[str, Any]]:
        def name(what: str, process: int, place: int, text: str) -> dict[str, Any]:
            return {"ph": "M", "name": what, "pid": process, "tid": place, "args": {"name": text}}

        if self.threads:
            yield name("process_name", 0, 0, f"host, process {os.getpid()}")
        for thread in self.threads:
            yield name("thread_name", 0, thread, self.name_of_thread(thread))
        for device, streams in sorted(self.streams.items()):
            yield name("process_name", 1 + device, 0, f"device {device}: {Device(device).name}")
            for number in range(len(streams)):
                yield name("thread_name", 1 + device, number, self.name_of_stream(device, number))
