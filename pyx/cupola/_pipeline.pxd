# cupola/_pipeline.pxd - cupola/pipeline.h; internal.

from libc.stdint cimport int64_t, uint32_t

from cupola._abi cimport cupola_dimensions
from cupola.handles cimport cupola_kernel, cupola_memory, cupola_pipeline, cupola_stream

cdef extern from "cupola/pipeline.h" nogil:
    enum:
        CUPOLA_PIPELINE_INPUT
        CUPOLA_PIPELINE_OUTPUT
        CUPOLA_PIPELINE_STOPPED

    ctypedef struct cupola_pipeline_array:
        void* host
        const int64_t* shape
        const int64_t* strides
        int ndim
        size_t itemsize
        uint32_t flags

    int cupola_pipeline_create(
        const cupola_pipeline_array* arrays, size_t count, int64_t length, cupola_pipeline** out)
    int64_t cupola_pipeline_chunks(const cupola_pipeline* pipeline)
    size_t cupola_pipeline_slots(const cupola_pipeline* pipeline)
    int cupola_pipeline_add_slot(
        cupola_pipeline* pipeline, cupola_stream* stream, cupola_memory** device,
        cupola_memory** staging, size_t* slot)
    int cupola_pipeline_set_kernel(
        cupola_pipeline* pipeline, size_t slot, cupola_kernel* kernel,
        const cupola_dimensions* dimensions, const void* arguments, size_t count,
        const uint32_t* forms)
    int cupola_pipeline_set_call(
        cupola_pipeline* pipeline, int (*call)(void*, size_t, int64_t) noexcept nogil, void* data)
    int cupola_pipeline_set_report(
        cupola_pipeline* pipeline, int (*report)(void*, int64_t) noexcept nogil, void* data,
        double interval)
    int cupola_pipeline_fill(cupola_pipeline* pipeline, size_t slot, int64_t chunk)
    int cupola_pipeline_upload(cupola_pipeline* pipeline, size_t slot)
    int cupola_pipeline_launch(cupola_pipeline* pipeline, size_t slot)
    int cupola_pipeline_download(cupola_pipeline* pipeline, size_t slot)
    int cupola_pipeline_drain(cupola_pipeline* pipeline, size_t slot)
    int64_t cupola_pipeline_chunk(const cupola_pipeline* pipeline, size_t slot)
    int cupola_pipeline_ready(cupola_pipeline* pipeline, size_t slot, int* ready)
    int cupola_pipeline_run(cupola_pipeline* pipeline)
    int cupola_pipeline_finish(cupola_pipeline* pipeline, int succeeded)
    void cupola_pipeline_failed(const cupola_pipeline* pipeline, int64_t* first, int64_t* last)
    void cupola_pipeline_release(cupola_pipeline* pipeline)
