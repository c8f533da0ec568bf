# cupola/_launch.pxd - cupola/launch.h; internal.

from cupola._abi cimport cupola_attributes, cupola_dimensions
from cupola.handles cimport cupola_kernel, cupola_stream

cdef extern from "cupola/launch.h" nogil:
    int cupola_launch_point(const cupola_kernel* kernel, const void* buffer, void** pointers)
    int cupola_launch_pointed(
        cupola_kernel* kernel, const cupola_dimensions* dimensions,
        const cupola_attributes* attributes, void** pointers, cupola_stream* stream)

    enum:
        CUPOLA_LAUNCH_BEGINS
        CUPOLA_LAUNCH_QUEUED
        CUPOLA_LAUNCH_FAILED

    ctypedef void (*cupola_launch_observer)(
        int stage, cupola_kernel* kernel, const cupola_dimensions* dimensions,
        const cupola_attributes* attributes, void** pointers, cupola_stream* stream
    ) noexcept nogil
    void cupola_launch_observe(cupola_launch_observer observer)
