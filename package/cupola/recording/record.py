# cupola/recording/record.py - cupola.record: a block whose launches are recorded.
"""Begins and ends the recording of launches."""

from __future__ import annotations

import os
import warnings
from threading import Lock
from typing import Any

from cupola import launch_observer
from cupola.core.result_types import ObservedLaunch
from cupola.device import Device
from cupola.exceptions import ArgumentTypeError, ArgumentValueError
from cupola.recording.archive import Writer
from cupola.recording.capture import Capture
from cupola.recording.fault import FaultCapture
from cupola.recording.observer import Observer

__all__ = ["Record", "record"]

_LIMIT = 1 << 30
_running = Lock()  # held by the one recording of the process


class Record:
    """A recording of launches; made by `record`. A ``with`` block, or `start` and `stop`.

    Attributes
    ----------
    file : str
        The path of the file.
    stopped : str
        Why the recording ended before `stop`; "" where it did not.
    """

    def __init__(
        self, path: str, kernels: str, numbers: range, limit: int, fault: bool = False
    ) -> None:
        self.file = path
        self.stopped = ""
        self._fault = fault
        self._kernels, self._numbers, self._limit = kernels, numbers, limit
        self._observer: Observer | None = None
        self._ended = False

    @property
    def count(self) -> int:
        """The launches in the file."""
        return 0 if self._observer is None else self._observer.capture.count

    def start(self) -> Record:
        """Begin to record.

        Returns
        -------
        Record
            This one.

        Raises
        ------
        ArgumentValueError
            Another recording is running in this process, or this one was started before.
        """
        if self._observer is not None:
            raise ArgumentValueError("a recording is started only once: make another one")
        if not _running.acquire(blocking=False):
            raise ArgumentValueError("this process is recording already: stop that recording first")
        try:
            device = Device()
            capture = (
                FaultCapture(self.file, self._limit) if self._fault
                else Capture(Writer(self.file), self._limit)
            )  # fmt: skip
            major, minor = device.compute_capability
            try:
                capture.head(device.name, f"{major}.{minor}", self._kernels)
            except BaseException:
                capture.close()
                raise
        except BaseException:
            _running.release()
            raise
        self._observer = Observer(capture, self._kernels, self._numbers)
        if not self._observer.done:
            launch_observer.observe(self._observer)
        return self

    def observe(self, stage: int, launch: ObservedLaunch | None) -> None:
        """Record a launch, for an observer that was called in place of this recording's."""
        if self._observer is not None:
            self._observer(stage, launch)

    def stop(self) -> None:
        """End the recording and complete the file. Waits for a launch that is being recorded.

        Warns where the recording has stopped earlier, at its limit. Raises the error of the
        recording where the file could not be written.
        """
        observer = self._observer
        if observer is None or self._ended:
            raise ArgumentValueError("this recording was not started, or has been stopped")
        self._ended = True
        with observer.lock:
            launch_observer.observe(None)
            observer.done = True
        self.stopped = observer.stopped
        try:
            observer.capture.end(observer.stopped)
        finally:
            _running.release()
        if observer.error is not None:
            raise observer.error
        if self.stopped:
            warnings.warn(
                f"{self.file}: the recording stopped after {self.count} launches: "
                f"{self.stopped}; record fewer launches (kernels=, launches=), or raise limit=",
                RuntimeWarning, stacklevel=3,
            )  # fmt: skip

    def __enter__(self) -> Record:
        return self.start()

    def __exit__(self, kind: object, error: BaseException | None, *trace: object) -> None:
        try:
            self.stop()
        except Exception as ours:
            if error is None:
                raise
            # The block's own exception has priority; the file stays incomplete.
            text = f"its launches could not be recorded: {type(ours).__name__}: {ours}"
            error.__notes__ = [*getattr(error, "__notes__", []), text]  # shown since Python 3.11


def record(
    path: str | os.PathLike[str], *, kernels: str = "*", launches: slice = slice(None),
    limit: int = _LIMIT, fault: bool = False,
) -> Record:  # fmt: skip
    """Record launches of this process with the memory that they use.

    ::

        with cupola.record("case.cupola", kernels="step*", launches=slice(0, 3)):
            simulate()

    ``python -m cupola replay case.cupola`` runs them again, by default on the CPU device. Around a
    recorded launch, the host waits for the device and copies the memory that the launch
    reaches. Launches of graphs and of captured streams are not recorded.

    Parameters
    ----------
    path : path-like
        The file, which is replaced. It can be read after each launch, also where the process ends.
    kernels : str
        A pattern, as for `fnmatch`: launches of kernels whose name in the image, or name without
        parameters, fits it are recorded.
    launches : slice
        Which of these launches, counted from 0. Start, stop and step are not negative.
    limit : int
        The most bytes of memory contents and images, before compression and without repetitions.
        Where they are exceeded, the recording stops and warns. With `fault`, of one launch: a
        larger one is left out.
    fault : bool
        Keep what each launch needs in the host's memory, and write the launch that fails alone. No
        file is written where none fails.

    Returns
    -------
    Record
        For a ``with`` block, or its ``start()`` and ``stop()``.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        An argument has another type, or is out of its range.
    """
    if not isinstance(kernels, str):
        raise ArgumentTypeError(f"kernels is a pattern of names, got {type(kernels).__name__}")
    if not isinstance(launches, slice):
        raise ArgumentTypeError(
            f"launches is a slice, as in slice(0, 3), got {type(launches).__name__}"
        )
    bounds: tuple[Any, ...] = (launches.start, launches.stop, launches.step)
    if any(one is not None and (type(one) is not int or one < 0) for one in bounds):
        raise ArgumentValueError(f"launches: expected numbers from 0 on, got {launches}")
    if launches.step == 0:
        raise ArgumentValueError("launches: the step of a slice is at least 1")
    if type(limit) is not int or limit < 1:
        raise ArgumentValueError(f"limit: expected a number of bytes from 1 on, got {limit!r}")
    numbers = range(*launches.indices(1_000_000))  # a case has numbers of six digits
    return Record(os.fspath(path), kernels, numbers, limit, bool(fault))
