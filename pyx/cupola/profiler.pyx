# cupola/profiler.pyx - recordings of calls and device work, for profiles.
# cython: language_level=3
"""Recordings, from which profiles are made."""

from libc.math cimport isnan

from cupola._abi cimport CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, text
from cupola._profile cimport (
    CUPOLA_PROFILE_FILL, CUPOLA_PROFILE_GRAPH, CUPOLA_PROFILE_HOST, CUPOLA_PROFILE_LAUNCH,
    CUPOLA_PROFILE_ON_DEVICE, CUPOLA_PROFILE_RANGE, CUPOLA_PROFILE_TO_DEVICE,
    CUPOLA_PROFILE_TO_HOST, CUPOLA_PROFILE_WAIT, cupola_profile, cupola_profile_begin,
    cupola_profile_count,
    cupola_profile_end, cupola_profile_get, cupola_profile_record, cupola_profile_release,
    cupola_profile_start, cupola_profile_stop,
)
from cupola.abi cimport require
from cupola.error cimport check

from cupola.exceptions import ArgumentValueError
from cupola.core.result_types import Operation

cdef dict KINDS = {
    CUPOLA_PROFILE_LAUNCH: "launch",
    CUPOLA_PROFILE_GRAPH: "graph",
    CUPOLA_PROFILE_TO_DEVICE: "copy to the device",
    CUPOLA_PROFILE_TO_HOST: "copy to the host",
    CUPOLA_PROFILE_ON_DEVICE: "copy on the device",
    CUPOLA_PROFILE_FILL: "fill",
    CUPOLA_PROFILE_WAIT: "wait",
    CUPOLA_PROFILE_HOST: "host",
    CUPOLA_PROFILE_RANGE: "range",
}


cdef object known(double time):
    return None if isnan(time) else time


cdef class Recording:
    """A recording of all work that this process queues, from construction to `stop`.

    Parameters
    ----------
    ranges : bool
        Whether calls are also NVTX ranges.
    """

    cdef cupola_profile* native

    def __cinit__(self):
        self.native = NULL

    def __init__(self, bint ranges=False):
        if self.native != NULL:
            raise TypeError("a Recording is initialized only once")
        with nogil:
            check(cupola_profile_start(ranges, &self.native))

    def __dealloc__(self):
        with nogil:
            cupola_profile_release(self.native)

    def stop(self):
        """Wait for the recorded work and return its operations.

        Returns
        -------
        list of Operation
        """
        cdef cupola_profile_record record
        cdef size_t i
        if self.native == NULL:
            raise ArgumentValueError("this recording was never begun")
        with nogil:
            check(cupola_profile_stop(self.native))
        found = []
        for i in range(cupola_profile_count(self.native)):
            check(cupola_profile_get(self.native, i, &record))
            launched = record.kind == CUPOLA_PROFILE_LAUNCH
            found.append(Operation(
                KINDS[record.kind], text(record.name),
                None if record.device < 0 else record.device, record.stream, record.thread,
                record.call_begin, record.call_end, known(record.begin), known(record.end),
                record.bytes,
                tuple([record.dimensions.grid[k] for k in range(3)]) if launched else None,
                tuple([record.dimensions.block[k] for k in range(3)]) if launched else None,
                record.dimensions.shared if launched else None))
        return found


def begin(str name not None):
    """Begin a named range of this thread; `end` ends it."""
    encoded = name.encode()
    check(cupola_profile_begin(encoded))


def end():
    """End the range that this thread began last."""
    check(cupola_profile_end())


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
