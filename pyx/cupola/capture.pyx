# cupola/capture.pyx - captures a stream's work as a graph.
# cython: language_level=3
"""Captures."""

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, CUPOLA_CAPTURE_GLOBAL, CUPOLA_CAPTURE_RELAXED,
    CUPOLA_CAPTURE_THREAD_LOCAL, cupola_capture_begin, cupola_capture_end, cupola_graph_release,
    cupola_stream_pop, cupola_stream_push,
)
from cupola._attribute_docs cimport document_attributes
from cupola._callback cimport list_held
from cupola.abi cimport require
from cupola.error cimport check
from cupola.handles cimport cupola_stream

from cupola.exceptions import ArgumentValueError

cdef dict MODES = {
    "global": CUPOLA_CAPTURE_GLOBAL,
    "thread_local": CUPOLA_CAPTURE_THREAD_LOCAL,
    "relaxed": CUPOLA_CAPTURE_RELAXED,
}


cdef class Capture:
    """A capture of a stream's work as a graph; made by `Stream.capture`."""

    def __init__(self, Stream stream not None, mode="thread_local"):
        if mode not in MODES:
            raise ArgumentValueError(
                f"a capture's mode is 'thread_local', 'global' or 'relaxed', got {mode!r}")
        self.stream = stream
        self.mode = MODES[mode]
        self.graph = Graph.__new__(Graph)

    def __enter__(self):
        cdef cupola_stream* native = self.stream.native
        if self.state != 0:
            raise ArgumentValueError("a capture can be used only once: call Stream.capture again")
        with nogil:
            check(cupola_capture_begin(native, self.mode))
        self.state = 1
        check(cupola_stream_push(native))
        return self.graph

    def __exit__(self, kind, error, trace):
        cdef cupola_stream* native = self.stream.native
        cdef int status
        self.state = 2
        try:
            check(cupola_stream_pop(native))
        finally:
            with nogil:
                status = cupola_capture_end(native, &self.graph.native)
            if kind is None:  # after an exception in the block, that exception is more useful
                check(status)
            elif status == 0:
                cupola_graph_release(self.graph.native)
                self.graph.native = NULL
        self.graph.device_index = self.stream.device_index
        if self.graph.native != NULL:
            list_held(self.graph.native, self.graph.held_for(NULL), self.graph.calls)


document_attributes(Capture, {
    "stream": "The `Stream` that is captured.",
    "graph": "The `Graph` that receives the nodes.",
})

require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
