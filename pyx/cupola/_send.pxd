# cupola/_send.pxd - from packed bytes to the driver; internal: it needs cupola.h.

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from cupola._abi cimport (
    cupola_attributes, cupola_dimensions, cupola_launch_at_once, cupola_stream_follow,
    cupola_stream_peek, cupola_stream_release, cupola_stream_retain,
)
from cupola.error cimport check
from cupola.handles cimport cupola_kernel, cupola_stream
from cupola.stream cimport Stream

# Where a launch goes, and whose its arrays are. This thread's current stream is left for the launch
# itself to find, until somebody has to know it, or something runs that could change it.
cdef struct Queue:
    cupola_stream* native  # NULL: the current one
    cupola_stream* home  # of the memory of the arrays so far; NULL: there was none
    uint64_t awaited  # a stream whose work the launch has to wait for, where arguments said AWAIT
    int device
    bint held

cdef inline void open_queue(Queue* queue, Stream stream, int device) noexcept:
    queue.native = queue.home = NULL
    queue.awaited = 0
    if stream is not None:
        queue.native = stream.native
    queue.device = device
    queue.held = False

cdef inline int hold_queue(Queue* queue) except -1:
    if queue.native == NULL:
        check(cupola_stream_peek(queue.device, &queue.native))
        cupola_stream_retain(queue.native)
        queue.held = True
    return 0

# Lets the launch wait for the work of another stream: either may be full.
cdef inline int follow(cupola_stream* stream, uint64_t other) except -1:
    cdef int status
    with nogil:
        status = cupola_stream_follow(stream, <void*>other)
    return check(status)

cdef inline void close_queue(Queue* queue) noexcept:
    if queue.held:
        cupola_stream_release(queue.native)

# Launches what was checked, with the interpreter's lock held where that can't wait, else without
# it. `shared` is how many bytes of the buffer other threads may change meanwhile: they are copied
# before. `used` becomes the stream, which may be NULL for the current one.
cdef inline int send(
    cupola_kernel* kernel, const cupola_dimensions* dimensions,
    const cupola_attributes* attributes, const char* buffer, size_t shared,
    cupola_stream* stream, cupola_stream** used
) except -1:
    cdef int status = cupola_launch_at_once(
        kernel, dimensions, attributes, buffer, stream, used)
    if status == 0:
        return 0
    return send_otherwise(status, kernel, dimensions, attributes, buffer, shared, stream)

cdef int send_otherwise(
    int status, cupola_kernel* kernel, const cupola_dimensions* dimensions,
    const cupola_attributes* attributes, const char* buffer, size_t shared,
    cupola_stream* stream) except -1

# Around a launch that may be traced, without the interpreter's lock in between: the line of Python.
cdef int begin_traced() except -1
cdef void end_traced() noexcept

# Around a launch that is not sent from here: the Python line it comes from, where these are kept.
cdef int note_line() except -1
cdef void forget_line() noexcept

# Python's fast way to call an object: without a tuple of the arguments. Every instance of the type
# has to have its function at this offset, and the type no subclass yet. What a tuple holds has the
# form of such arguments.
cdef extern from *:
    """
    static inline void cupola_set_vectorcall(PyTypeObject* type, Py_ssize_t offset) {
        type->tp_vectorcall_offset = offset;
        type->tp_call = PyVectorcall_Call;
        type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
        PyType_Modified(type);
    }
    #define cupola_tuple_items(tuple) (&PyTuple_GET_ITEM(tuple, 0))
    """
    PyObject** tuple_items "cupola_tuple_items"(tuple items)
    void cupola_set_vectorcall(type kind, Py_ssize_t offset)
    Py_ssize_t PyVectorcall_NARGS(size_t nargsf)

# The call with a tuple and a dict that the fast one has no time for.
cdef object call_slowly(
    object self, PyObject** arguments, Py_ssize_t count, PyObject* names, object method)
