# cupola/pipelines.pxd - a pipeline's chunks and slots, for schedules without the GIL:
#
#     cdef int work(Pipeline pipeline) except -1 nogil:
#         cdef int64_t chunk
#         cdef size_t slot
#         for chunk in range(pipeline.chunk_count):
#             slot = chunk % pipeline.slot_count
#             if pipeline.chunk_in(slot) >= 0:
#                 pipeline.drain(slot)
#             pipeline.fill(slot, chunk)
#             pipeline.upload(slot)
#             pipeline.launch(slot)
#             pipeline.download(slot)
#         ...
#
# Each step raises the same errors as in cupola's own schedule.

from libc.stdint cimport int64_t

from cupola.handles cimport cupola_pipeline
from cupola.stream cimport Stream

cdef class Chunk:
    cdef readonly int64_t index
    cdef readonly int64_t start  # rows
    cdef readonly int64_t stop

cdef class Slot:
    cdef readonly Pipeline pipeline
    cdef readonly size_t index
    cdef readonly Stream stream
    cdef tuple arrays  # on the device, one buffer for each host array
    cdef tuple pinned  # page-locked memory for each, or None

    cdef tuple cut(self, tuple which)  # these arrays, cut to the chunk's length

cdef class Pipeline:
    cdef cupola_pipeline* native
    cdef readonly int64_t chunk_count
    cdef readonly size_t slot_count
    cdef readonly int64_t rows  # the number of rows of the host arrays
    cdef readonly int64_t length  # the number of rows of a chunk
    cdef readonly tuple slots
    cdef readonly tuple hosts  # the host arrays
    cdef tuple inputs, outputs  # their indices
    cdef object function  # the function that queues the work, where no kernel does
    cdef object progress
    cdef list caught  # exceptions of these two
    cdef list kept  # objects that the slots' kernels use

    # The steps of a chunk; see csrc/include/cupola/pipeline.h.
    cdef int fill(self, size_t slot, int64_t chunk) except -1 nogil
    cdef int upload(self, size_t slot) except -1 nogil
    cdef int launch(self, size_t slot) except -1 nogil
    cdef int download(self, size_t slot) except -1 nogil
    cdef int drain(self, size_t slot) except -1 nogil
    cdef int64_t chunk_in(self, size_t slot) noexcept nogil  # -1: none
    cdef int is_ready(self, size_t slot) except -1 nogil  # whether drain would not wait
    cdef int run_all(self) except -1 nogil  # cupola's own schedule
    cdef int outcome(self, int status) except -1 nogil
