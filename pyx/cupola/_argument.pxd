# cupola/_argument.pxd - packs arguments into a launch's buffer; internal: it needs cupola.h.

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from cupola._abi cimport cupola_parameter
from cupola._names cimport KeywordBinder
from cupola._send cimport Queue
from cupola.array cimport Array
from cupola.element cimport Element
from cupola.handles cimport cupola_kernel, cupola_stream
from cupola.memory cimport Memory
from cupola.texture cimport TextureObject
from cupola.transfer cimport Transfer

# Actions that remain for an argument after it was packed.
cdef enum Remainder:
    NOTHING = 0
    USE = 1  # after the launch: the array's memory belongs to another stream than the first array's
    TRANSFER = 2  # before the launch: host memory has to be copied
    OTHER = 4  # the argument is of a rare type: put_other has to pack it
    AWAIT = 8  # before the launch: wait for the queue's `awaited` stream
    EXPAND = 16  # nothing was packed: `expanded` has the values of all parameters

# A struct that a kernel takes by value, and by which it accesses an array.
cdef class ArrayDescriptor:
    cdef Array described
    cdef const void* bytes
    cdef size_t nbytes

cdef class Signature:
    cdef cupola_kernel* native
    cdef const cupola_parameter* parameters
    cdef Element* elements
    cdef readonly size_t count  # of the parameters that a caller gives
    cdef readonly size_t total  # with hidden parameters, which come last and are zero
    cdef readonly object fixed  # the cupola.image.manifest.Fixed of the kernel, or None
    cdef readonly size_t nbytes
    cdef readonly int device_index
    cdef KeywordBinder names_  # None until an argument is given by name
    cdef object descriptors  # cupola.core.descriptors.Descriptors; None: one parameter each
    cdef list layouts  # dtypes of the kernel's parameters, where a manifest has them; else None
    cdef Signature before  # another thread may still use the one that a declaration replaced
    cdef object fitting  # dtypes of structs that had a parameter's layout when they were checked

    # Takes the description of each parameter from a manifest, in `told`.
    cdef int describe(self, str title, object told, object fixed) except -1
    cdef KeywordBinder names(self)
    # Writes arguments into the buffer; returns a set of Remainder. Only pack_array returns AWAIT
    # and EXPAND.
    cdef int pack(self, tuple arguments, char* buffer, cupola_stream* stream) except -1
    cdef int pack_array(
        self, PyObject** arguments, Py_ssize_t count, char* buffer, Queue* queue) except -1
    # The values of all parameters, where an argument fills several parameters.
    cdef tuple expanded(self, PyObject** arguments)
    cdef object device_array(self, size_t place, object value)
    # put_usual packs common types, put_other the rest (OTHER). `put` does both.
    cdef int put_usual(
        self, char* buffer, size_t index, object value, cupola_stream** owning_stream) except -1
    cdef int put(self, char* buffer, size_t index, object value, cupola_stream* stream) except -1
    cdef int put_address(
        self, char* buffer, size_t index, uint64_t address, str came) except -1
    cdef int put_large(self, char* buffer, size_t index, object value, int sign) except -1
    cdef int put_scalar(self, char* buffer, size_t index, object value, int code) except -1
    # With a NULL `queue` it waits for other libraries' memory immediately. Else it returns AWAIT,
    # so that arrays of one stream are waited for once.
    cdef int put_other(
        self, char* buffer, size_t index, object value, cupola_stream* stream, Queue* queue
    ) except -1
    cdef int await_stream(self, cupola_stream* stream, uint64_t other, Queue* queue) except -1
    cdef int put_memory(self, char* buffer, size_t index, Memory memory) except -1
    cdef int put_texture(self, char* buffer, size_t index, TextureObject texture) except -1
    cdef int put_descriptor(
        self, char* buffer, size_t index, ArrayDescriptor descriptor) except -1
    cdef int put_foreign(
        self, char* buffer, size_t index, object value, cupola_stream* stream) except -1
    cdef int put_interface(
        self, char* buffer, size_t index, object value, cupola_stream* stream) except -1
    cdef int put_complex(self, char* buffer, size_t index, double real, double imag) except -1
    cdef int put_described(
        self, char* buffer, size_t index, object value, cupola_stream* stream) except -1
    cdef int put_buffer(self, char* buffer, size_t index, object value) except -1
    cdef int check_layout(self, size_t index, object value) except -1

    # Around the launch, for In, Out and InOut.
    cdef list begin(self, PyObject** arguments, char* buffer, cupola_stream* stream)
    cdef int end(self, list begun, cupola_stream* stream) except -1
    # After the launch, for memory of other streams.
    cdef int use(self, PyObject** arguments, cupola_stream* stream) except -1

    cdef int refuse_memory(
        self, size_t index, str came, bint contiguous, object dtype, str copy) except -1
    cdef int refuse_element(
        self, size_t index, str came, object dtype, uint64_t address, str array) except -1
    cdef int refuse_transfer(self, size_t index, Transfer value) except -1
    cdef int refuse_array(self, size_t index, str came, str host) except -1
    cdef int refuse_device(self, size_t index, str came, int device) except -1
    cdef int refuse_readonly(self, size_t index, object value) except -1
    cdef int refuse_host(self, size_t index, object value) except -1
    cdef int refuse(self, size_t index, str came, int status=*) except -1

# If the stream is being captured, the graph keeps another library's memory alive.
cdef int hold_captured(object value, cupola_stream* stream) except -1
cdef Signature signature_of(cupola_kernel* native)
