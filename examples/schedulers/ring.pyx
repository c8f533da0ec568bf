# cython: language_level=3
# distutils: language = c++
# examples/schedulers/ring.pyx - an order of work that needs no interpreter.
from libc.stdint cimport int64_t

from cupola.pipelines cimport Pipeline


cdef int ring(Pipeline pipeline) except -1 nogil:
    """One slot after the other: what is in it is drained, and the next chunk goes in."""
    cdef int64_t turn
    cdef size_t slot
    for turn in range(pipeline.chunk_count + <int64_t>pipeline.slot_count):
        slot = turn % pipeline.slot_count
        if pipeline.chunk_in(slot) >= 0:
            pipeline.drain(slot)
        if turn < pipeline.chunk_count:
            pipeline.fill(slot, turn)
            pipeline.upload(slot)
            pipeline.launch(slot)
            pipeline.download(slot)
    return 0


def schedule(Pipeline pipeline not None):
    """For `cupola.pipeline(..., schedule=ring.schedule)`."""
    with nogil:
        ring(pipeline)
