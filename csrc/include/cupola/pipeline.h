/* cupola/pipeline.h - host arrays in chunks that go through devices; part of the C ABI.
 *
 * A pipeline cuts host arrays along their first axis. A slot is a stream with device memory, and
 * page-locked memory where the host's is not, for one chunk at a time. A chunk goes through a slot
 * in five steps:
 *
 *     fill      host arrays to the slot's page-locked memory; nothing where they are page-locked
 *     upload    queued: page-locked memory to the device
 *     launch    queued: the kernel, or whatever the callback queues
 *     download  queued: device to page-locked memory
 *     drain     waits for all of that, then page-locked memory to host arrays
 *
 * A schedule is what calls them: cupola_pipeline_run or another. Different slots may be worked on
 * by different threads, one slot by one at a time. */
#ifndef CUPOLA_PIPELINE_H
#define CUPOLA_PIPELINE_H

#include "cupola/launch.h"
#include "cupola/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cupola_pipeline cupola_pipeline;

enum { CUPOLA_PIPELINE_INPUT = 1, CUPOLA_PIPELINE_OUTPUT = 2 };

typedef struct cupola_pipeline_array {
    void* host;             /* its first element */
    const int64_t* shape;   /* the first axis is cut; that of all arrays is as long */
    const int64_t* strides; /* bytes */
    int ndim;               /* at least 1 */
    size_t itemsize;
    uint32_t flags; /* CUPOLA_PIPELINE_INPUT, _OUTPUT or both */
} cupola_pipeline_array;

/* Chunks of `length` rows, the last of what is left. The host arrays stay the caller's, who keeps
 * them as long as the pipeline. */
CUPOLA_API int cupola_pipeline_create(const cupola_pipeline_array* arrays, size_t count,
                                      int64_t length, cupola_pipeline** out);
CUPOLA_API int64_t cupola_pipeline_chunks(const cupola_pipeline* pipeline);
CUPOLA_API size_t cupola_pipeline_slots(const cupola_pipeline* pipeline);

/* A slot of that stream. For each array: device memory for a chunk of it; page-locked memory for as
 * much, or NULL where host memory is copied from and to directly, for which it has to be in C
 * order. The pipeline holds all of them. */
CUPOLA_API int cupola_pipeline_add_slot(cupola_pipeline* pipeline, cupola_stream* stream,
                                        cupola_memory* const* device, cupola_memory* const* staging,
                                        size_t* slot);
/* What the slot launches: of `count` forms, that of chunk i is forms[i]. A form has dimensions, and
 * cupola_kernel_parameter_bytes of `arguments`; a grid of 0 launches nothing. */
CUPOLA_API int cupola_pipeline_set_kernel(cupola_pipeline* pipeline, size_t slot,
                                          cupola_kernel* kernel,
                                          const cupola_dimensions* dimensions,
                                          const void* arguments, size_t count,
                                          const uint32_t* forms);
/* Or: what queues the work on a slot's stream. Not 0: it failed. */
CUPOLA_API int cupola_pipeline_set_call(cupola_pipeline* pipeline,
                                        int (*call)(void* data, size_t slot, int64_t chunk),
                                        void* data);
/* Called when a chunk is done, but not sooner than `interval` seconds after the last call, except
 * for the last chunk: with the rows that are done. Not 0: stop. */
CUPOLA_API int cupola_pipeline_set_report(cupola_pipeline* pipeline,
                                          int (*report)(void* data, int64_t rows), void* data,
                                          double interval);

/* What a step gives where the call or the report asked to stop. */
#define CUPOLA_PIPELINE_STOPPED (-2)

/* The steps; each refuses what is not its turn, a slot that another thread is in a step of, and a
 * pipeline that is over. */
CUPOLA_API int cupola_pipeline_fill(cupola_pipeline* pipeline, size_t slot, int64_t chunk);
CUPOLA_API int cupola_pipeline_upload(cupola_pipeline* pipeline, size_t slot);
CUPOLA_API int cupola_pipeline_launch(cupola_pipeline* pipeline, size_t slot);
CUPOLA_API int cupola_pipeline_download(cupola_pipeline* pipeline, size_t slot);
CUPOLA_API int cupola_pipeline_drain(cupola_pipeline* pipeline, size_t slot);
/* Which chunk is in the slot, -1: none; and whether the device is done with it. */
CUPOLA_API int64_t cupola_pipeline_chunk(const cupola_pipeline* pipeline, size_t slot);
CUPOLA_API int cupola_pipeline_ready(cupola_pipeline* pipeline, size_t slot, int* ready);

/* Cupola's own schedule: the chunks in order, each into the next slot in turn. */
CUPOLA_API int cupola_pipeline_run(cupola_pipeline* pipeline);
/* After a schedule, whose threads may still be in a step: no other begins. Waits until none is, and
 * no device touches any of the memory. Where it `succeeded`, an error unless each chunk was
 * drained. Refused in one of the pipeline's own steps. */
CUPOLA_API int cupola_pipeline_finish(cupola_pipeline* pipeline, int succeeded);
/* The chunk in whose step the first failure was: first == last; or, where a device failed, those
 * that it had under way. -1 where nothing failed in a step. */
CUPOLA_API void cupola_pipeline_failed(const cupola_pipeline* pipeline, int64_t* first,
                                       int64_t* last);
CUPOLA_API void cupola_pipeline_release(cupola_pipeline* pipeline);

#ifdef __cplusplus
}
#endif

#endif /* CUPOLA_PIPELINE_H */
