# cupola/recording/observer.py - chooses the launches that are recorded.
"""The function that is called around each launch of the process."""

from __future__ import annotations

from fnmatch import fnmatchcase
from threading import Lock, get_ident

from cupola import launch_observer
from cupola.core.result_types import ObservedLaunch
from cupola.device import Device
from cupola.exceptions import Error
from cupola.recording.capture import Capture, DeviceMemory, LimitReached, kernel_of


class Observer:
    """The function that is called around launches: chooses those that are recorded.

    Parameters
    ----------
    capture : Capture
    kernels : str
        A pattern of names, as for `fnmatch`.
    numbers : range
        The launches to record, counted among those of the pattern.
    """

    def __init__(self, capture: Capture, kernels: str, numbers: range) -> None:
        self.capture, self._kernels, self._numbers = capture, kernels, numbers
        self.lock = Lock()  # held from a launch's begin to its end
        self._owner: int | None = None  # the thread whose launch is being recorded
        self._seen = 0
        self._device = -1
        self.done = not numbers
        self.stopped = ""
        self.error: BaseException | None = None

    def __call__(self, stage: int, launch: ObservedLaunch | None) -> None:
        """Record a launch of the pattern; other launches pass."""
        if stage != launch_observer.BEGINS:
            if self._owner == get_ident():
                self._finish(failed=stage == launch_observer.FAILED)
            return
        assert launch is not None
        if self.done or self._owner == get_ident() or not self._matches(launch):
            return
        self.lock.acquire()
        recorded = False
        try:
            recorded = not self.done and self._begin(launch)
        except LimitReached:
            self._stop("its limit of bytes is reached")
        except BaseException as error:
            self.error = error
            self._stop(f"{type(error).__name__}: {error}")
        finally:
            if recorded:
                self._owner = get_ident()
            else:
                self.lock.release()

    def _matches(self, launch: ObservedLaunch) -> bool:
        names = launch.name, launch.title
        return any(fnmatchcase(name, self._kernels) for name in names)

    def _begin(self, launch: ObservedLaunch) -> bool:
        number, self._seen = self._seen, self._seen + 1
        if number not in self._numbers:
            self._look_for_the_end()
            return False
        self._device = launch.device
        if launch.capturing:
            self.capture.leave_out(launch.title, "the process was capturing a graph")
        elif launch.image is None:
            reason = "its image is cupola's own, or was loaded by C or C++ code"
            self.capture.leave_out(launch.title, reason)
        else:
            _synchronize(launch.device)
            kernel = kernel_of(launch.image.module(), launch.name)
            return self.capture.before(launch, kernel, DeviceMemory(launch.device))
        return False

    def _finish(self, *, failed: bool) -> None:
        try:
            error = "the driver refused the launch" if failed else ""
            if not failed:
                try:
                    _synchronize(self._device)
                except Error as fault:
                    error = str(fault) or type(fault).__name__
            self.capture.after(error, DeviceMemory(self._device))
            if error and not failed:  # the device takes no further work
                self._stop("")
            self._look_for_the_end()
        except LimitReached:
            self._stop("its limit of bytes is reached")
        except BaseException as fault:
            self.error = fault
            self._stop(f"{type(fault).__name__}: {fault}")
        finally:
            self._owner = None
            self.lock.release()

    def _look_for_the_end(self) -> None:
        if self._numbers and self._seen > self._numbers[-1]:
            self._stop("")

    def _stop(self, reason: str) -> None:
        self.stopped = reason
        self.done = True
        launch_observer.observe(None)


def _synchronize(device: int) -> None:
    Device(device).synchronize()
