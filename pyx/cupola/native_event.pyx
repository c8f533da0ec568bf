# cupola/native_event.pyx - the native event that streams wait for.
# cython: language_level=3

from cupola._abi cimport CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, cupola_event_release
from cupola._attribute_docs cimport document_attributes
from cupola.abi cimport require


cdef class NativeEvent:
    def __cinit__(self):
        self.native = NULL

    def __dealloc__(self):
        with nogil:
            cupola_event_release(self.native)


document_attributes(NativeEvent, {
    "device_index": "The index of the device, an int.",
})

require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
