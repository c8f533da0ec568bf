# cupola/event.pxd - an event.

from cupola.handles cimport cupola_event
from cupola.stream cimport Stream

cdef class Event:
    cdef cupola_event* native
    cdef readonly int device_index

    cdef void* get_handle(self) noexcept nogil  # the driver's CUevent
    cdef int record_on(self, Stream stream) except -1 nogil
