# cupola/recording/fault.py - keeps the last launch, and writes it where it fails.
"""After a fault, nothing can be copied from the device: what a replay needs is kept before."""

from __future__ import annotations

import os

from cupola.core.result_types import ObservedLaunch
from cupola.recording.archive import Held, Writer
from cupola.recording.capture import Capture, KernelOf, LimitReached, Memory


class FaultCapture(Capture):
    """A case of the launch that fails. The file is made when that launch has failed.

    Parameters
    ----------
    path : path-like
    limit : int
        The most bytes of contents of a launch and its image.
    """

    def __init__(self, path: str | os.PathLike[str], limit: int) -> None:
        self._held = Held()
        super().__init__(self._held, limit)
        self._path = path
        self._head: tuple[str, str, str] = ("", "", "")

    def _forget(self) -> None:
        super()._forget()
        self._held.members.clear()

    def head(self, device: str, capability: str, kernels: str) -> None:
        """Keep what the case begins with."""
        self._head = device, capability, kernels

    def before(self, launch: ObservedLaunch, kernel: KernelOf, memory: Memory) -> bool:
        """Keep a launch with the contents before it, in place of the launch before."""
        self._forget()
        try:
            return super().before(launch, kernel, memory)
        except LimitReached:
            self._forget()
            self.leave_out(launch.title, "its memory exceeds the limit of bytes")
            return False

    def after(self, error: str, memory: Memory) -> None:
        """Write a launch that failed."""
        if not error:
            self._forget()
            return
        super().after(error, memory)
        writer = Writer(self._path)
        self._writer = writer
        super().head(*self._head)
        writer.append(self._held.members)
        super().end("")

    def end(self, stopped: str) -> None:
        """Do nothing: the file is complete, or there is none."""

    def close(self) -> None:
        """Close the file, if there is one."""
        self._writer.close()
