/* cupola/pipeline.h - processes host arrays in chunks on devices; part of the C ABI.
 *
 * A pipeline cuts host arrays along their first axis. A slot is a stream with device memory for one
 * chunk, and page-locked memory where the host arrays are pageable. A chunk is processed in a slot
 * in five steps:
 *
 *     fill      copies host arrays to page-locked memory; nothing where they are page-locked.
 *     upload    queues the copy from page-locked memory to the device.
 *     launch    queues the kernel, or calls the callback that queues work.
 *     download  queues the copy from the device to page-locked memory.
 *     drain     waits for all of these, then copies page-locked memory to host arrays.
 *
 * A schedule calls the steps: cupola_pipeline_run or the caller's own. Different threads may work
 * on different slots, but only one at a time on a slot. */
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
    const int64_t* shape;   /* the first axis is cut; its length is equal in all arrays */
    const int64_t* strides; /* bytes */
    int ndim;               /* at least 1 */
    size_t itemsize;
    uint32_t flags; /* CUPOLA_PIPELINE_INPUT, _OUTPUT or both */
} cupola_pipeline_array;

/* Makes chunks of `length` rows; the last may be shorter. The caller must keep the host arrays
 * alive as long as the pipeline. */
CUPOLA_API int cupola_pipeline_create(const cupola_pipeline_array* arrays, size_t count,
                                      int64_t length, cupola_pipeline** out);
CUPOLA_API int64_t cupola_pipeline_chunks(const cupola_pipeline* pipeline);
CUPOLA_API size_t cupola_pipeline_slots(const cupola_pipeline* pipeline);

/* Adds a slot with that stream. For each array, pass device memory for a chunk, and page-locked
 * memory of that size, or NULL to copy the host array directly, which must then be in C order. The
 * pipeline keeps all of them alive. */
CUPOLA_API int cupola_pipeline_add_slot(cupola_pipeline* pipeline, cupola_stream* stream,
                                        cupola_memory* const* device, cupola_memory* const* staging,
                                        size_t* slot);
/* Sets the slot's launch: of `count` forms, chunk i uses forms[i]. A form has dimensions, and
 * cupola_kernel_parameter_bytes of `arguments`; a grid of 0 launches nothing. */
CUPOLA_API int cupola_pipeline_set_kernel(cupola_pipeline* pipeline, size_t slot,
                                          cupola_kernel* kernel,
                                          const cupola_dimensions* dimensions,
                                          const void* arguments, size_t count,
                                          const uint32_t* forms);
/* The alternative: a callback that queues work on a slot's stream. Not 0: it failed. */
CUPOLA_API int cupola_pipeline_set_call(cupola_pipeline* pipeline,
                                        int (*call)(void* data, size_t slot, int64_t chunk),
                                        void* data);
/* Called with the number of finished rows when a chunk is done, at most once in `interval` seconds,
 * and always for the last chunk. Not 0: stop. */
CUPOLA_API int cupola_pipeline_set_report(cupola_pipeline* pipeline,
                                          int (*report)(void* data, int64_t rows), void* data,
                                          double interval);

/* The status of a step where the callback or the report stopped the pipeline. */
#define CUPOLA_PIPELINE_STOPPED (-2)

/* The steps of a slot. A step fails if it is out of order, if another thread works on the slot, or
 * after the pipeline has ended. */
CUPOLA_API int cupola_pipeline_fill(cupola_pipeline* pipeline, size_t slot, int64_t chunk);
CUPOLA_API int cupola_pipeline_upload(cupola_pipeline* pipeline, size_t slot);
CUPOLA_API int cupola_pipeline_launch(cupola_pipeline* pipeline, size_t slot);
CUPOLA_API int cupola_pipeline_download(cupola_pipeline* pipeline, size_t slot);
CUPOLA_API int cupola_pipeline_drain(cupola_pipeline* pipeline, size_t slot);
/* The chunk in the slot (-1: none), and whether its device work is done. */
CUPOLA_API int64_t cupola_pipeline_chunk(const cupola_pipeline* pipeline, size_t slot);
CUPOLA_API int cupola_pipeline_ready(cupola_pipeline* pipeline, size_t slot, int* ready);

/* The default schedule: chunks in order, slots in round-robin order. */
CUPOLA_API int cupola_pipeline_run(cupola_pipeline* pipeline);
/* Ends the pipeline: no further step begins. Waits until no thread is in a step and no device uses
 * the memory. Where the schedule `succeeded`, fails unless each chunk was drained. Not allowed in
 * one of the pipeline's own steps. */
CUPOLA_API int cupola_pipeline_finish(cupola_pipeline* pipeline, int succeeded);
/* The chunks of the first failure: first == last for a failed step, or all chunks on the device
 * where a device failed. -1 where no step failed. */
CUPOLA_API void cupola_pipeline_failed(const cupola_pipeline* pipeline, int64_t* first,
                                       int64_t* last);
CUPOLA_API void cupola_pipeline_release(cupola_pipeline* pipeline);

#ifdef __cplusplus
}
#endif

#endif /* CUPOLA_PIPELINE_H */
