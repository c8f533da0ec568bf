# cupola/tools/debug/in_process.py - the debugger in the process of the program.
"""Takes the events of the CPU device in the thread that launches."""

from __future__ import annotations

import bdb
import ctypes
import json
import sys
import threading
import time
from collections.abc import Sequence
from types import FrameType
from typing import Any

from cupola import driver, library, paths
from cupola.exceptions import ArgumentValueError, DriverError
from cupola.tools.debug.debugger import Debugger, Process
from cupola.tools.debug.protocol import Requests
from cupola.tools.debug.shell import Shell

HANDLER = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)


class InProcess:
    """The session of this process, with its prompt."""

    def __init__(self, device: ctypes.CDLL) -> None:
        self._device = device
        device.cupola_cpu_debug_request.restype = ctypes.c_void_p
        device.cupola_cpu_debug_request.argtypes = (
            ctypes.c_char_p,
            ctypes.c_size_t,
            ctypes.POINTER(ctypes.c_size_t),
        )
        self.shell = Shell()
        self.session: Debugger = self.shell.session
        self.session.in_process = True
        self._process = Process(Requests(self._exchange))
        self.handler = HANDLER(self._handle)  # the driver keeps its address

    def _exchange(self, payload: bytes) -> bytes:
        size = ctypes.c_size_t()
        reply = self._device.cupola_cpu_debug_request(payload, len(payload), ctypes.byref(size))
        return ctypes.string_at(reply, size.value)

    def _handle(self, event: bytes) -> int:
        """Answer an event. Ctrl-C while a kernel runs stops at its next line."""
        try:
            described = json.loads(event)
            if described["event"] != "poll":
                self.session.handle(self._process, described)
        except KeyboardInterrupt:
            self.session.pausing = True
            return 1
        if self.shell.ended_by_user:
            self.shell.ended_by_user = False
            self._leave()
        return 0

    def _leave(self) -> None:
        """Raise bdb.BdbQuit in this thread, as pdb's quit does, once the handler has returned.

        In the handler the exception would be lost: ctypes can pass none to its caller.
        """
        number = threading.get_ident()

        def leave() -> None:
            # The driver waits for this before the launch returns, and does not hold the GIL.
            while (frame := sys._current_frames().get(number)) and _in_handler(frame):
                time.sleep(0.001)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(number), ctypes.py_object(bdb.BdbQuit)
            )
            self._exchange(b"leave")

        threading.Thread(target=leave, daemon=True).start()


def _in_handler(frame: FrameType | None) -> bool:
    while frame:
        if frame.f_code is InProcess._handle.__code__:
            return True
        frame = frame.f_back
    return False


_session: InProcess | None = None


def trace(kernel: str | None, block: Sequence[int] | None, thread: Sequence[int] | None) -> None:
    """Stop at the kernel's next launch; see `cupola.set_trace`."""
    global _session
    for name, index in (("block", block), ("thread", thread)):
        if index is not None and (len(index) != 3 or min(index) < 0):
            raise ArgumentValueError(f"{name} is {index!r}; expected three numbers from 0")
    if driver.info().kind != "cpu":
        raise DriverError(
            "cupola.set_trace stops kernels on the CPU device alone: set CUPOLA_DRIVER=cpu, or "
            "use cuda-gdb on a GPU"
        )
    device = ctypes.CDLL(paths.cpu_driver())
    event: dict[str, Any] = {"event": "trace", "kernel": kernel}
    event |= {"block": list(block) if block else None, "thread": list(thread) if thread else None}
    if device.cupola_cpu_debug_note(json.dumps(event).encode()):
        return
    if _session is None:
        _session = InProcess(device)
        # From now on, launches release the GIL: a stopped launch must not hold the GIL.
        ctypes.CDLL(library.path()).cupola_launch_origin(None)
        device.cupola_cpu_debug_attach(_session.handler)
    _session.session.trace(kernel, block, thread)
