# cupola/event.pyx - events, which mark a point in a stream's work.
# cython: language_level=3
"""Events."""

from libc.stdint cimport uintptr_t

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, CUPOLA_EVENT_BLOCKING, CUPOLA_EVENT_INTERPROCESS,
    CUPOLA_EVENT_NO_TIMING, cupola_event_create, cupola_event_elapsed, cupola_event_export,
    cupola_event_handle, cupola_event_import, cupola_event_query,
    cupola_event_record, cupola_event_release, cupola_event_synchronize, cupola_stream_wait,
)
from cupola.abi cimport require
from cupola.device cimport device_index, device_text, known_device
from cupola.error cimport check
from cupola.handles cimport cupola_event
from cupola.native_event cimport NativeEvent
from cupola.stream cimport Stream, as_stream

from cupola.error import AFTER_WAIT
from cupola.exceptions import ArgumentValueError, DriverError

__all__ = ["Event"]


def opened(handle, device):
    """Open an event of another process from its pickled handle."""
    return Event.from_ipc_handle(handle, device=device)


cdef class Event(NativeEvent):
    """An event: after it is recorded in a stream, it is done when all earlier work there is.

    Parameters
    ----------
    timing : bool
        Whether times can be measured; an event without timing is a little cheaper.
    blocking : bool
        Whether `synchronize` sleeps rather than spins.
    ipc : bool
        Whether other processes may use it (see `ipc_handle`); such an event has no timing. It can
        be pickled for processes that are started while it exists.
    device : Device or int, optional
        By default the current one.
    """

    def __init__(self, *, timing=None, bint blocking=False, bint ipc=False, device=None):
        cdef int index = device_index(device)
        cdef unsigned flags = 0
        cdef cupola_event* native = NULL
        if blocking:
            flags |= CUPOLA_EVENT_BLOCKING
        if ipc and timing:
            raise ArgumentValueError("an event with ipc=True has no timing: pass timing=False")
        if timing is not None and not timing:
            flags |= CUPOLA_EVENT_NO_TIMING
        if ipc:
            flags |= CUPOLA_EVENT_INTERPROCESS
        with nogil:
            check(cupola_event_create(index, flags, &native))
            cupola_event_release(self.native)
        self.native = native
        self.device_index = index

    @staticmethod
    def from_ipc_handle(bytes handle not None, *, device=None):
        """An event of another process.

        Parameters
        ----------
        handle : bytes
            The value of `ipc_handle` in that process.
        device : Device or int, optional
            The device it belongs to; by default the current one.

        Returns
        -------
        Event
        """
        if len(handle) != 64:
            raise ArgumentValueError(f"an event's IPC handle has 64 bytes, got {len(handle)}")
        cdef Event event = Event.__new__(Event)
        cdef const unsigned char* data = handle
        cdef int index = device_index(device)
        with nogil:
            check(cupola_event_import(index, data, &event.native))
        event.device_index = index
        return event

    def ipc_handle(self):
        """A handle by which another process opens the event: see `from_ipc_handle`.

        Returns
        -------
        bytes
            64 bytes, valid as long as this event exists.

        Raises
        ------
        DriverError
            Where it was made without ``ipc=True``, or the driver has no such events.
        """
        cdef unsigned char handle[64]
        with nogil:
            check(cupola_event_export(self.native, handle))
        return handle[:64]

    def __reduce__(self):
        try:
            return opened, (self.ipc_handle(), self.device_index)
        except DriverError as error:
            raise TypeError(
                "only an event made with ipc=True can be shared with other processes") from error

    cdef void* get_handle(self) noexcept nogil:
        return cupola_event_handle(self.native)

    cdef int record_on(self, Stream stream) except -1 nogil:
        with nogil:  # the stream may be full
            return check(cupola_event_record(self.native, stream.native))

    cdef int wait_done(self) except -1 nogil:
        return check(cupola_event_synchronize(self.native))

    cdef int is_done(self) except -1 nogil:
        cdef int done = 0
        check(cupola_event_query(self.native, &done))
        return done != 0

    cdef int hold_up(self, Stream stream) except -1 nogil:
        return check(cupola_stream_wait(stream.native, self.native))

    cdef double seconds_since(self, Event start) except? -1 nogil:
        cdef double seconds = 0
        check(cupola_event_synchronize(self.native))
        check(cupola_event_elapsed(start.native, self.native, &seconds))
        return seconds

    def record(self, stream=None):
        """Record the event after all work queued on the stream.

        Parameters
        ----------
        stream : Stream, optional
            By default the current one.
        """
        self.record_on(as_stream(stream, self.device_index))

    def synchronize(self):
        """Wait until the event is done.

        Raises
        ------
        DriverError
            Where work before it failed.
        IndexError
            Where work of the device found an index out of range; see `take`.
        """
        with nogil:
            self.wait_done()
        if AFTER_WAIT[0] is not None:
            AFTER_WAIT[0](self.device_index)

    @property
    def done(self):
        """Whether all work before the event is done; true before it is recorded."""
        cdef int done
        with nogil:
            done = self.is_done()
        return done != 0

    def elapsed_since(self, Event start not None):
        """Seconds from another event to this event. Waits for this event.

        Parameters
        ----------
        start : Event
            Recorded earlier.

        Returns
        -------
        float
            Seconds.
        """
        cdef double seconds
        with nogil:
            seconds = self.seconds_since(start)
        return seconds

    @property
    def handle(self):
        """The driver's handle, a ``CUevent``, as an int."""
        return <uintptr_t>self.get_handle()

    @property
    def device(self):
        """The device it belongs to."""
        return known_device(self.device_index)

    def __repr__(self):
        return f"<cupola.Event {self.handle:#x} on {device_text(self.device_index)}>"


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
