# cupola/native_event.pxd - the native event that streams wait for.

from cupola.handles cimport cupola_event

# The base class of cupola.Event. Event's methods take streams, so streams know only this class.
cdef class NativeEvent:
    cdef cupola_event* native
    cdef readonly int device_index
