# cupola/memory.pyx - a piece of memory, released when nothing refers to it any more.
# cython: language_level=3
"""Memory: what arrays lie in."""

from cpython.buffer cimport PyBuffer_FillInfo

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, cupola_memory_address, cupola_memory_allocate,
    cupola_memory_allocate_pinned, cupola_memory_release, cupola_memory_use,
)
from cupola.abi cimport require
from cupola.error cimport check


cdef Memory allocate(int device, size_t nbytes, Stream stream):
    cdef Memory memory = Memory.__new__(Memory)
    cdef cupola_memory* native = NULL
    with nogil:
        check(cupola_memory_allocate(device, nbytes, stream.native, &native))
    memory.native = native
    memory.stream = stream
    memory.address = cupola_memory_address(native)
    memory.nbytes = nbytes
    memory.device_index = device
    return memory


cdef Memory allocate_pinned(int device, size_t nbytes):
    cdef Memory memory = Memory.__new__(Memory)
    cdef cupola_memory* native = NULL
    with nogil:
        check(cupola_memory_allocate_pinned(device, nbytes, &native))
    memory.native = native
    memory.address = cupola_memory_address(native)
    memory.nbytes = nbytes
    memory.device_index = device
    memory.pinned = True
    return memory


cdef class Memory:
    """Memory of a device, or page-locked memory of the host, which shows its bytes as a buffer.

    Made by `cupola.empty`, `cupola.to_device` and `cupola.pinned_empty`, not directly.
    """

    def __cinit__(self):
        self.native = NULL
        self.address = 0
        self.nbytes = 0
        self.device_index = 0
        self.pinned = False

    def __init__(self):
        raise TypeError("memory is made by cupola.empty, to_device or pinned_empty")

    def __dealloc__(self):
        # The library frees in the order of the streams that used it, so work may be in flight.
        with nogil:
            cupola_memory_release(self.native)

    cdef int use(self, cupola_stream* stream) except -1:
        if self.native != NULL:
            check(cupola_memory_use(self.native, stream))
        return 0

    cdef int free(self) except -1:
        cdef cupola_memory* native = self.native
        self.native = NULL
        self.address = 0
        with nogil:
            cupola_memory_release(native)
        return 0

    def __getbuffer__(self, Py_buffer* view, int flags):
        if not self.pinned:
            raise BufferError("the host cannot read a device's memory; copy it with Array.get()")
        PyBuffer_FillInfo(view, self, <void*>self.address, self.nbytes, 0, flags)

    def __repr__(self):
        kind = "page-locked" if self.pinned else f"device {self.device_index}"
        return f"<cupola.memory.Memory {self.nbytes} bytes, {kind}>"


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
