# cupola/_send.pyx - sends packed launches, and releases the GIL where one may wait.
# cython: language_level=3

import os
import sys

from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, CUPOLA_WOULD_WAIT, cupola_launch, cupola_launch_origin,
)
from cupola.abi cimport require

from cupola.exceptions import ArgumentValueError


cdef bint read_traceback() except -1:
    value = os.environ.get("CUPOLA_TRACEBACK", "")
    if value not in ("", "0", "1"):
        raise ArgumentValueError(f'CUPOLA_TRACEBACK is "{value}"; expected 0 or 1')
    return value == "1"


# Whether the Python line of each launch is kept, for reports of kernel faults.
cdef bint TRACEBACK = read_traceback()
if TRACEBACK:
    cupola_launch_origin(NULL)  # from now on all launches use send_otherwise


cdef int note_line() except -1:
    if not TRACEBACK:
        return 0
    frame = sys._getframe()
    line = f"{frame.f_code.co_filename}:{frame.f_lineno}".encode(errors="replace")
    cupola_launch_origin(line)
    return 0


cdef void forget_line() noexcept:
    if TRACEBACK:
        cupola_launch_origin(NULL)


cdef int begin_traced() except -1:
    return note_line() if TRACEBACK else 0


cdef void end_traced() noexcept:
    if TRACEBACK:
        cupola_launch_origin(NULL)


cdef int send_otherwise(
    int status, cupola_kernel* kernel, const cupola_dimensions* dimensions,
    const cupola_attributes* attributes, const char* buffer, size_t shared,
    cupola_stream* stream
) except -1:
    cdef char* snapshot = NULL
    check(0 if status == CUPOLA_WOULD_WAIT else status)
    if shared:
        snapshot = <char*>malloc(shared)
        if snapshot == NULL:
            raise MemoryError
        memcpy(snapshot, buffer, shared)
        buffer = snapshot
    begin_traced()
    with nogil:
        status = cupola_launch(kernel, dimensions, attributes, buffer, stream)
        free(snapshot)
    end_traced()
    return check(status)


cdef object call_generic(
    object self, PyObject** arguments, Py_ssize_t count, PyObject* names, object method
):
    given = {} if names == NULL else {
        name: <object>arguments[count + i] for i, name in enumerate(<tuple>names)}
    return method(self, *[<object>arguments[i] for i in range(count)], **given)


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
