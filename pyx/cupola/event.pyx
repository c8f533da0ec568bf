# cupola/event.pyx - an event: a mark in a stream, to wait for or to measure between.
# cython: language_level=3
"""Events."""

from libc.stdint cimport uintptr_t

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, CUPOLA_EVENT_BLOCKING, CUPOLA_EVENT_NO_TIMING,
    cupola_event_create, cupola_event_elapsed, cupola_event_handle, cupola_event_query,
    cupola_event_record, cupola_event_release, cupola_event_synchronize,
)
from cupola.abi cimport require
from cupola.device cimport device_index, known_device
from cupola.error cimport check
from cupola.stream cimport Stream, as_stream


cdef class Event:
    """An event: once recorded in a stream it is done when all that was queued before it is.

    Parameters
    ----------
    timing : bool
        Whether times can be taken; an event without is a little cheaper.
    blocking : bool
        Whether `synchronize` sleeps rather than spins.
    device : Device or int, optional
        By default the current one.
    """

    def __cinit__(self):
        self.native = NULL

    def __init__(self, *, bint timing=True, bint blocking=False, device=None):
        cdef int index = device_index(device)
        cdef unsigned flags = 0
        cdef cupola_event* native = NULL
        if blocking:
            flags |= CUPOLA_EVENT_BLOCKING
        if not timing:
            flags |= CUPOLA_EVENT_NO_TIMING
        with nogil:
            check(cupola_event_create(index, flags, &native))
            cupola_event_release(self.native)
        self.native = native
        self.device_index = index

    def __dealloc__(self):
        with nogil:
            cupola_event_release(self.native)

    cdef void* get_handle(self) noexcept nogil:
        return cupola_event_handle(self.native)

    cdef int record_on(self, Stream stream) except -1 nogil:
        with nogil:  # the stream may be full
            return check(cupola_event_record(self.native, stream.native))

    def record(self, stream=None):
        """Record the event after all that is queued on the stream.

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
        """
        with nogil:
            check(cupola_event_synchronize(self.native))

    @property
    def done(self):
        """Whether all before the event is done; true before it was recorded."""
        cdef int done = 0
        with nogil:
            check(cupola_event_query(self.native, &done))
        return done != 0

    def elapsed_since(self, Event start not None):
        """Time from another event to this one, which is waited for.

        Parameters
        ----------
        start : Event
            Recorded earlier.

        Returns
        -------
        float
            Seconds.
        """
        cdef double seconds = 0
        with nogil:
            check(cupola_event_synchronize(self.native))
            check(cupola_event_elapsed(start.native, self.native, &seconds))
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
        return f"<cupola.Event {self.handle:#x} on device {self.device_index}>"


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
