# cupola/tools/timeline/trace.py - writes profiles in Chrome's trace format.
"""Profiles in Chrome's trace format."""

from __future__ import annotations

from typing import Any

from cupola.core.result_types import Operation
from cupola.tools.timeline.tracks import Tracks


def chrome_trace(operations: list[Operation], names_of_threads: dict[int, str]) -> dict[str, Any]:
    """The operations in the format of Chrome's traces; times are in microseconds."""
    events: list[dict[str, Any]] = []
    tracks = Tracks(names_of_threads)
    for number, operation in enumerate(operations):
        shared = {"number": number, **_details(operation)}
        for track, begin, end, details in (
            (tracks.of_thread(operation), operation.call_begin, operation.call_end, {}),
            (tracks.of_stream(operation), operation.begin, operation.end, _rate(operation)),
        ):
            if track is None or begin is None or end is None:
                continue
            process, place = track
            events.append(
                {
                    "ph": "X",
                    "name": operation.name,
                    "cat": operation.kind,
                    "pid": process,
                    "tid": place,
                    "ts": round(begin * 1e6, 3),
                    "dur": round((end - begin) * 1e6, 3),
                    "args": {**shared, **details},
                }
            )
    return {"displayTimeUnit": "ms", "traceEvents": [*tracks.names(), *events]}


def _details(operation: Operation) -> dict[str, Any]:
    details: dict[str, Any] = {}
    if operation.bytes:
        details["bytes"] = operation.bytes
    if operation.grid is not None:
        details |= {"grid": operation.grid, "block": operation.block, "shared": operation.shared}
    return details


def _rate(operation: Operation) -> dict[str, float]:
    if not operation.bytes or operation.begin is None or operation.end == operation.begin:
        return {}
    return {"GB/s": round(operation.bytes / (operation.end - operation.begin) * 1e-9, 3)}
