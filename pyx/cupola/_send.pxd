# cupola/_send.pxd - sends packed launches to the driver; internal: it needs cupola.h.

from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport uint64_t

from cupola._abi cimport (
    cupola_attributes, cupola_dimensions, cupola_launch_at_once, cupola_stream_follow,
    cupola_stream_peek, cupola_stream_release, cupola_stream_retain,
)
from cupola.error cimport check
from cupola.handles cimport cupola_kernel, cupola_stream
from cupola.stream cimport Stream

# A launch's stream and the streams of its arrays. The launch itself looks up this thread's current
# stream, unless it is needed earlier or code runs that could change it.
cdef struct Queue:
    cupola_stream* native  # the launch's stream; NULL: this thread's current stream
    cupola_stream* owning_stream  # the stream of the first array's memory; NULL: no array yet
    uint64_t awaited  # a stream that the launch has to wait for, after AWAIT
    int device
    bint held

cdef inline void open_queue(Queue* queue, Stream stream, int device) noexcept:
    queue.native = queue.owning_stream = NULL
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

# Lets the launch wait for another stream's work. Either stream may be full, so this may block.
cdef inline int follow(cupola_stream* stream, uint64_t other) except -1:
    cdef int status
    with nogil:
        status = cupola_stream_follow(stream, <void*>other)
    return check(status)

cdef inline void close_queue(Queue* queue) noexcept:
    if queue.held:
        cupola_stream_release(queue.native)

# Sends a checked launch. Releases the GIL if the launch may wait. Other threads may change the
# first `shared` bytes of the buffer while the GIL is released, so it copies these bytes before.
# `stream` is NULL for the current stream; `used` receives the stream of the launch.
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

# Call before and after a launch that may be traced and runs without the GIL: sets its Python line.
cdef int begin_traced() except -1
cdef void end_traced() noexcept

# Call before and after a launch that other code sends: sets its Python line if lines are traced.
cdef int note_line() except -1
cdef void forget_line() noexcept

# Enables vectorcall for a type: calls without a tuple of arguments. Every instance must store its
# function at this offset, and the type must not have subclasses yet. A tuple's items can be passed
# as vectorcall arguments.
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

# The same for a class that keeps its __call__, which must do the same.
cdef extern from *:
    """
    static inline void cupola_add_vectorcall(PyTypeObject* type, Py_ssize_t offset) {
        type->tp_vectorcall_offset = offset;
        type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
        PyType_Modified(type);
    }
    """
    void cupola_add_vectorcall(PyTypeObject* kind, Py_ssize_t offset)

# The general call, with a tuple and a dict of arguments.
cdef object call_generic(
    object self, PyObject** arguments, Py_ssize_t count, PyObject* names, object method)
