# cupola/timeline.py - profiles of calls and device work, as traces and pictures.
"""Profiles: copies, launches and waits by stream and by thread."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from cupola import profiler
from cupola.device import Device
from cupola.exceptions import ArgumentValueError
from cupola.inspection.result_types import Operation

# Colours of a picture by kind; distinguishable in grey and for colour-blind readers.
_COLOURS = {
    "copy to the device": "#56b4e9",
    "launch": "#d55e00",
    "graph": "#8c3f00",
    "copy to the host": "#009e73",
    "copy on the device": "#f0e442",
    "fill": "#cc79a7",
    "host": "#999999",
    "wait": "#dddddd",
    "range": "#e69f00",
}
_PER_THREAD = 2  # the driver's handle of each thread's own default stream


class Profile:
    """A profile of a ``with`` block; made by `cupola.profile`.

    Attributes
    ----------
    operations : list of Operation
        The calls in the block, in the order in which they returned; empty until the block has
        ended.
    """

    def __init__(self, path: Any = None, *, picture: Any = None, nvtx: bool = False) -> None:
        self.operations: list[Operation] = []
        self._path, self._picture, self._nvtx = path, picture, nvtx
        self._recording: profiler.Recording | None = None
        self._threads: dict[int, str] = {}
        if picture is not None:
            _matplotlib()  # raises before recording if matplotlib is missing

    def __enter__(self) -> Profile:
        if self._recording is not None:
            raise ArgumentValueError("a profile can record only one block: make another one")
        self._recording = profiler.Recording(self._nvtx)
        return self

    def __exit__(self, kind: object, error: BaseException | None, *trace: object) -> None:
        assert self._recording is not None
        self._threads = _names_of_threads()
        try:
            self.operations = self._recording.stop()
            if self._path is not None:
                self.save(self._path)
            if self._picture is not None:
                self.save_png(self._picture)
        except Exception as ours:
            if error is None:
                raise
            # The block's own exception has priority; the profile stays incomplete.
            _note(error, f"its profile could not be finished: {type(ours).__name__}: {ours}")

    @contextlib.contextmanager
    def range(self, name: str) -> Iterator[None]:
        """Name a thread's activity in a ``with`` block; it is shown with the thread's calls.

        Parameters
        ----------
        name : str
        """
        profiler.begin(name)
        try:
            yield
        finally:
            profiler.end()

    def save(self, path: Any) -> None:
        """Write the operations in Chrome's trace format: for ``ui.perfetto.dev``.

        Parameters
        ----------
        path : path-like
        """
        Path(path).write_text(json.dumps(self.trace(), separators=(",", ":")) + "\n")

    def trace(self) -> dict[str, Any]:
        """The operations in Chrome's trace format.

        Returns
        -------
        dict
            ``traceEvents`` has a complete event (``"ph": "X"``) for each call, in its thread's
            track, and one for its work on a device, in its stream's; times are in microseconds.
        """
        events: list[dict[str, Any]] = []
        tracks = _Tracks(self._threads)
        for number, operation in enumerate(self.operations):
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

    def save_png(self, path: Any, *, width: float = 12, dpi: int = 120) -> None:
        """Draw the operations over time as bars, with a row for each stream and each thread.

        Parameters
        ----------
        path : path-like
        width : float
            In inches.
        dpi : int
            Dots per inch.
        """
        _draw(self.operations, self._threads, width).savefig(
            path, dpi=dpi, format="png", facecolor="white"
        )

    def __repr__(self) -> str:
        return f"<cupola.Profile of {len(self.operations)} operations>"


def profile(path: Any = None, *, picture: Any = None, nvtx: bool = False) -> Profile:
    """Record the times of calls and device work: ``with cupola.profile("trace.json"):``.

    In the block, each copy, fill, launch and graph launch that this process queues through cupola,
    from any thread, is timed. Two events measure the device, the clock measures the host. The end
    of the block waits for the queued work, also after an exception. Profiles may nest and overlap.

    Parameters
    ----------
    path : path-like, optional
        A file in Chrome's trace format, for ``ui.perfetto.dev``.
    picture : path-like, optional
        A PNG file of the profile, drawn with matplotlib.
    nvtx : bool
        Whether calls are also NVTX ranges, which NVIDIA's profilers show.

    Returns
    -------
    Profile
        Its `operations` are complete when the block has ended.

    Raises
    ------
    ImportError
        Where a picture is requested and matplotlib is not installed.
    ArgumentValueError
        Where NVTX ranges are requested and cupola was built without them.

    Notes
    -----
    While a profile runs, a launch takes some microseconds longer. Captured work is shown only as
    calls of the host, and a graph's launch as one operation.
    """
    return Profile(path, picture=picture, nvtx=nvtx)


def _note(error: BaseException, text: str) -> None:
    if hasattr(error, "add_note"):
        error.add_note(text)
    else:  # Python 3.10
        warnings.warn(text, RuntimeWarning, stacklevel=3)


def _names_of_threads() -> dict[int, str]:
    return {
        thread.native_id: thread.name
        for thread in threading.enumerate()
        if thread.native_id is not None
    }


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


class _Tracks:
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


def _matplotlib() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "drawing a profile needs matplotlib, which is not installed: "
            "pip install matplotlib (or cupola[plot])"
        ) from error
    return Figure


def _rows(operations: Iterable[Operation], tracks: _Tracks) -> dict[Any, list[Any]]:
    """The bars of each row: (begin, end, operation).

    A thread's ranges enclose its calls, so they have a separate row.
    """
    rows: dict[Any, list[Any]] = {}
    for operation in operations:
        process, thread = tracks.of_thread(operation)
        rows.setdefault((process, thread, operation.kind != "range"), []).append(
            (operation.call_begin, operation.call_end, operation)
        )
        stream = tracks.of_stream(operation)
        if stream is not None:
            rows.setdefault((*stream, True), []).append((operation.begin, operation.end, operation))
    # Threads first, then the streams by device and number.
    return dict(sorted(rows.items(), key=lambda item: item[0]))


def _label(tracks: _Tracks, process: int, number: int, calls: bool) -> str:
    if process == 0:
        return tracks.name_of_thread(number) if calls else ""
    name = tracks.name_of_stream(process - 1, number).split(" (")[0]
    return name if len(tracks.streams) == 1 else f"device {process - 1}, {name}"


def _draw(operations: list[Operation], names: dict[int, str], width: float) -> Any:
    tracks = _Tracks(names)
    rows = _rows(operations, tracks)
    figure = _matplotlib()(figsize=(width, 1.3 + 0.42 * max(len(rows), 1)), layout="constrained")
    axes = figure.add_subplot()
    unit, scale = "ms", 1e3
    first = min((begin for row in rows.values() for begin, _, _ in row), default=0)
    last = max((end for row in rows.values() for _, end, _ in row), default=1e-3)
    if last - first < 2e-3:
        unit, scale = "µs", 1e6
    elif last - first >= 20:
        unit, scale = "s", 1
    labels, shown = [], {}
    for place, (track, row) in enumerate(rows.items()):
        labels.append(_label(tracks, *track))
        for kind, colour in _COLOURS.items():
            spans = [
                (scale * begin, scale * (end - begin)) for begin, end, o in row if o.kind == kind
            ]
            if spans:
                shown[kind] = axes.broken_barh(
                    spans, (place - 0.4, 0.8), facecolors=colour, edgecolors="black", linewidth=0.3
                )
        _write_names(axes, row, place, scale, last - first)
    axes.set_yticks(range(len(rows)), labels)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    margin = 0.005 * (last - first)
    axes.set_xlim(scale * (first - margin), scale * (last + margin))
    axes.set_xlabel(f"time, {unit}")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)
    if shown:
        figure.legend(
            shown.values(), shown.keys(), loc="outside upper center", ncols=len(shown),
            frameon=False,
        )  # fmt: skip
    return figure


def _write_names(axes: Any, row: list[Any], place: int, scale: float, whole: float) -> None:
    """The names of kernels, ranges and the host's work, where they fit into their bars."""
    for begin, end, operation in row:
        if operation.kind not in ("launch", "graph", "host", "range"):
            continue
        share = (end - begin) / whole
        of_device = operation.kind in ("launch", "graph")
        if share * 150 < len(operation.name) + 1:  # about the number of characters that fit
            continue
        axes.text(
            scale * (begin + end) / 2, place, operation.name, ha="center", va="center",
            fontsize=7, color="white" if of_device else "black", clip_on=True, zorder=3,
        )  # fmt: skip
