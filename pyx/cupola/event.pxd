# cupola/event.pxd - an event.

from cupola.native_event cimport NativeEvent
from cupola.stream cimport Stream

cdef class Event(NativeEvent):
    cdef void* get_handle(self) noexcept nogil  # the driver's CUevent
    cdef int record_on(self, Stream stream) except -1 nogil
    # Waits until all work before it is done. Never call this or seconds_since with the GIL held: a
    # Python function that a stream calls needs it.
    cdef int wait_done(self) except -1 nogil
    cdef int is_done(self) except -1 nogil  # 0 or 1
    # The stream waits for the event; the caller does not.
    cdef int hold_up(self, Stream stream) except -1 nogil
    # Seconds from the other event, which was recorded earlier; waits for this event.
    cdef double seconds_since(self, Event start) except? -1 nogil
