# cupola/capture.pxd - captures of a stream's work as a graph.

from cupola.graph cimport Graph
from cupola.stream cimport Stream

cdef class Capture:
    cdef readonly Stream stream
    cdef readonly Graph graph
    cdef int mode
    cdef int state
