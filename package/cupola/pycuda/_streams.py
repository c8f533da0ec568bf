# cupola/pycuda/_streams.py - streams and events, and control of profilers.
"""Streams and events; times are in milliseconds."""

from __future__ import annotations

import ctypes

import cupola
from cupola.pycuda import _calls
from cupola.pycuda._constants import event_flags
from cupola.pycuda._contexts import current
from cupola.pycuda._errors import translated


class Stream:
    """A stream of the current context; flags of 1: it does not wait for the default stream."""

    def __init__(self, flags=0):
        with translated():
            self._stream = cupola.Stream(
                non_blocking=bool(flags & 1), device=current()._owner._number
            )
        self.handle = self._stream.handle

    def __cuda_stream__(self):
        return 0, self.handle

    def synchronize(self):
        """Wait for all work on the stream."""
        with translated():
            self._stream.synchronize()

    def is_done(self):
        """Whether all work on the stream is done."""
        with translated():
            return self._stream.done

    def wait_for_event(self, evt):
        """Let later work of the stream wait for the event."""
        with translated():
            self._stream.wait(evt._event)


def stream_of(stream) -> cupola.Stream:
    """cupola's stream for an argument: None is the default stream."""
    return current()._legacy if stream is None else _required(stream)._stream


def _required(stream) -> Stream:
    if not isinstance(stream, Stream):
        raise TypeError(
            f"stream: expected a pycuda.driver.Stream or None, got {type(stream).__name__}"
        )
    return stream


def handle_of(stream) -> ctypes.c_void_p:
    """The driver's handle for an argument: None is the default stream."""
    current()
    return ctypes.c_void_p(0 if stream is None else _required(stream).handle)


class Event:
    """A point in a stream's work."""

    def __init__(self, flags=event_flags.DEFAULT):
        device = current()._owner._number
        with translated():
            self._take(
                cupola.Event(
                    timing=False if flags & event_flags.DISABLE_TIMING else None,
                    blocking=bool(flags & event_flags.BLOCKING_SYNC),
                    ipc=bool(flags & event_flags.INTERPROCESS),
                    device=device,
                )
            )

    def _take(self, event: cupola.Event) -> None:
        self._event = event
        self._address = ctypes.c_void_p(event.handle)

    def record(self, stream=None):
        """Record the event; returns it."""
        with translated():
            self._event.record(stream_of(stream))
        return self

    def synchronize(self):
        """Wait until the event is reached; returns it."""
        with translated():
            self._event.synchronize()
        return self

    def query(self):
        """Whether the event is reached."""
        with translated():
            return self._event.done

    def time_since(self, event):
        """Milliseconds from the other event to this one; both have to be reached."""
        return event.time_till(self)

    def time_till(self, event):
        """Milliseconds from this event to the other one; both have to be reached."""
        return _calls.value(ctypes.c_float, "cuEventElapsedTime", self._address, event._address)

    def ipc_handle(self):
        """The bytes with which another process opens the event."""
        with translated():
            return self._event.ipc_handle()

    @staticmethod
    def from_ipc_handle(handle):
        """An event of another process."""
        device = current()._owner._number
        event = Event.__new__(Event)
        with translated():
            event._take(cupola.Event.from_ipc_handle(bytes(handle), device=device))
        return event


def initialize_profiler(config_file, output_file, output_mode):
    """Refused: drivers of CUDA 12 and newer have no profiler of their own."""
    _calls.call(
        "cuProfilerInitialize", config_file.encode(), output_file.encode(), int(output_mode)
    )


def start_profiler():
    """Let a profiler begin to record."""
    current()
    _calls.call("cuProfilerStart")


def stop_profiler():
    """Let a profiler stop."""
    current()
    _calls.call("cuProfilerStop")
