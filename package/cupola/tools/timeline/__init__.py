# cupola/tools/timeline/__init__.py - profiles of calls and device work, as traces and pictures.
"""Profiles: copies, launches and waits by stream and by thread."""

from __future__ import annotations

import contextlib
import json
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cupola import profiler
from cupola.core.result_types import Operation
from cupola.exceptions import ArgumentValueError
from cupola.tools.timeline.picture import draw, figure_class
from cupola.tools.timeline.summary import Summary, summarize
from cupola.tools.timeline.trace import chrome_trace

__all__ = ["Profile", "profile"]


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
            figure_class()  # raises before recording if matplotlib is missing

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
        return chrome_trace(self.operations, self._threads)

    def summary(self) -> Summary:
        """Add up the operations of one kind and name: ``print(profile.summary())`` is a table.

        Returns
        -------
        Summary
            A tuple with an `OperationSum` for each kind and name, of the operations with the
            longest time on the device first. Its text is a table, in milliseconds and microseconds.
        """
        return summarize(self.operations)

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
        draw(self.operations, self._threads, width).savefig(
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
