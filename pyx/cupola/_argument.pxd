# cupola/_argument.pxd - how arguments get into a launch's buffer; internal: it needs cupola.h.

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from cupola._abi cimport cupola_parameter
from cupola._names cimport Names
from cupola._send cimport Queue
from cupola.element cimport Element
from cupola.handles cimport cupola_kernel, cupola_stream
from cupola.memory cimport Memory

# What is left to do for an argument once it was packed.
cdef enum Remainder:
    NOTHING = 0
    USE = 1  # after the launch: its memory belongs to another stream than an array before it
    TRANSFER = 2  # before it: host memory is to be copied there
    OTHER = 4  # everything: it was none of the usual ones
    AWAIT = 8  # before it: the work of the stream that the queue names, `awaited`

cdef class Signature:
    cdef cupola_kernel* native
    cdef const cupola_parameter* parameters
    cdef Element* elements
    cdef readonly size_t count
    cdef readonly size_t nbytes
    cdef readonly int device_index
    cdef Names names_  # None until somebody gives an argument by name
    cdef list layouts  # dtypes of its parameters, as far as a manifest tells; None where none does
    cdef object fitting  # dtypes of structs that were found to be of such a layout

    cdef Names names(self)
    # Writes arguments into the buffer; gives a set of Remainder, AWAIT by pack_array alone.
    cdef int pack(self, tuple arguments, char* buffer, cupola_stream* stream) except -1
    cdef int pack_array(
        self, PyObject** arguments, Py_ssize_t count, char* buffer, Queue* queue) except -1
    # The common ones; OTHER for the rest, for which put_other is there. `put` is both.
    cdef int put_usual(
        self, char* buffer, size_t index, object value, cupola_stream** home) except -1
    cdef int put(self, char* buffer, size_t index, object value, cupola_stream* stream) except -1
    cdef int put_address(
        self, char* buffer, size_t index, uint64_t address, str came) except -1
    cdef int put_large(self, char* buffer, size_t index, object value, int sign) except -1
    cdef int put_scalar(self, char* buffer, size_t index, object value, int code) except -1
    # Other libraries' memory is waited for at once where `queue` is NULL, else with AWAIT, so that
    # arrays which name one stream are waited for once.
    cdef int put_other(
        self, char* buffer, size_t index, object value, cupola_stream* stream, Queue* queue
    ) except -1
    cdef int order(self, cupola_stream* stream, uint64_t other, Queue* queue) except -1
    cdef int put_memory(self, char* buffer, size_t index, Memory memory) except -1
    cdef int put_foreign(
        self, char* buffer, size_t index, object value, cupola_stream* stream) except -1
    cdef int put_interface(
        self, char* buffer, size_t index, object value, cupola_stream* stream) except -1
    cdef int put_complex(self, char* buffer, size_t index, double real, double imag) except -1
    cdef int put_buffer(self, char* buffer, size_t index, object value) except -1
    cdef int check_layout(self, size_t index, object value) except -1

    # Around the launch, for In, Out and InOut.
    cdef list begin(self, PyObject** arguments, char* buffer, cupola_stream* stream)
    cdef int end(self, list begun, cupola_stream* stream) except -1
    # After the launch, for memory of other streams.
    cdef int use(self, PyObject** arguments, cupola_stream* stream) except -1

    cdef int refuse_readonly(self, size_t index, object value) except -1
    cdef int refuse_host(self, size_t index, object value) except -1
    cdef int refuse(self, size_t index, str came, int status=*) except -1

# Where the stream is being captured, the graph holds another library's memory.
cdef int hold_captured(object value, cupola_stream* stream) except -1
cdef Signature signature_of(cupola_kernel* native)
