/* cupola/launch.h - arguments and launches; part of the C ABI. */
#ifndef CUPOLA_LAUNCH_H
#define CUPOLA_LAUNCH_H

#include "cupola/kernel.h"
#include "cupola/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Each writes argument `index` into a buffer of cupola_kernel_parameter_bytes, after checks of the
 * parameter's kind, width and range. */
CUPOLA_API int cupola_argument_int(const cupola_kernel* kernel, void* buffer, size_t index,
                                   int64_t value);
CUPOLA_API int cupola_argument_uint(const cupola_kernel* kernel, void* buffer, size_t index,
                                    uint64_t value);
CUPOLA_API int cupola_argument_float(const cupola_kernel* kernel, void* buffer, size_t index,
                                     double value);
CUPOLA_API int cupola_argument_pointer(const cupola_kernel* kernel, void* buffer, size_t index,
                                       uint64_t address);
/* A struct or any other value of exactly the parameter's size. */
CUPOLA_API int cupola_argument_bytes(const cupola_kernel* kernel, void* buffer, size_t index,
                                     const void* bytes, size_t size);
/* CUPOLA_ERROR_TYPE, and a text that lists the parameters, unless the kernel takes `count`. */
CUPOLA_API int cupola_argument_count(const cupola_kernel* kernel, size_t count);
/* For an argument that the caller refuses: keeps and returns CUPOLA_ERROR_TYPE or _VALUE, with a
 * text like those of the functions above: the expected value, and `got`. */
CUPOLA_API int cupola_argument_refuse(const cupola_kernel* kernel, size_t index, int status,
                                      const char* got);

typedef struct cupola_dimensions {
    uint32_t grid[3];  /* blocks */
    uint32_t block[3]; /* threads a block */
    uint32_t shared;   /* bytes of dynamic shared memory a block */
} cupola_dimensions;

enum {
    CUPOLA_COOPERATIVE = 1, /* all blocks are resident together and can wait for each other */
    CUPOLA_DEPENDENT = 2,   /* may start before the preceding kernel ends: the kernel waits
                               by itself (programmatic dependent launch) */
    CUPOLA_PRIORITY = 4,    /* `priority` replaces the stream's */
    CUPOLA_CARVEOUT = 8     /* `carveout` is used */
};

/* Optional attributes of a launch; all zeros mean none. */
typedef struct cupola_attributes {
    uint32_t cluster[3]; /* blocks of a cluster, which divide the grid; zeros: none, or those that
                            the kernel was compiled for */
    uint32_t flags;      /* of the above */
    int32_t priority;    /* a smaller number is a higher priority */
    int32_t carveout;    /* percent of a multiprocessor's memory to be shared memory */
} cupola_attributes;

/* Queues the kernel on the stream. `attributes` may be NULL. The buffer is copied before the call
 * returns. */
CUPOLA_API int cupola_launch(cupola_kernel* kernel, const cupola_dimensions* dimensions,
                             const cupola_attributes* attributes, const void* buffer,
                             cupola_stream* stream);
/* Like cupola_launch, for a caller that holds a lock which device work or a callback may need, such
 * as the GIL. cupola_launch_check must have accepted the launch. Where the call could wait, or
 * launches are traced, it does nothing and returns CUPOLA_WOULD_WAIT: release the lock and call
 * cupola_launch. `used`, unless NULL, receives the stream, without a reference. A current stream is
 * valid until this thread's current stream changes. */
#define CUPOLA_WOULD_WAIT (-1)
CUPOLA_API int cupola_launch_at_once(cupola_kernel* kernel, const cupola_dimensions* dimensions,
                                     const cupola_attributes* attributes, const void* buffer,
                                     cupola_stream* stream, cupola_stream** used);
/* The checks of cupola_launch without the launch. */
CUPOLA_API int cupola_launch_check(const cupola_kernel* kernel, const cupola_dimensions* dimensions,
                                   const cupola_attributes* attributes);
/* Sets the source line of this thread's next launches, for reports of faults; NULL: none. The text
 * is copied. After the first call, launches are traced. */
CUPOLA_API void cupola_launch_origin(const char* line);

/* The address of each argument in a launch's buffer: cupola_kernel_parameter_count pointers. */
CUPOLA_API int cupola_launch_point(const cupola_kernel* kernel, const void* buffer,
                                   void** pointers);
/* Like cupola_launch, with the arguments' addresses instead of a buffer. cupola_launch_check must
 * have accepted dimensions and attributes (or NULL): they are not checked again. */
CUPOLA_API int cupola_launch_pointed(cupola_kernel* kernel, const cupola_dimensions* dimensions,
                                     const cupola_attributes* attributes, void** pointers,
                                     cupola_stream* stream);

/* An observer of launches. It is called twice around each launch, on the launching thread:
 * with CUPOLA_LAUNCH_BEGINS before the launch is queued, then with CUPOLA_LAUNCH_QUEUED, or with
 * CUPOLA_LAUNCH_FAILED where the driver refused the launch. `attributes` may be NULL. `pointers`
 * are the addresses of the arguments, as for cupola_launch_pointed. The observer may copy memory
 * and wait for streams; a launch that it makes is observed as well. */
enum { CUPOLA_LAUNCH_BEGINS = 0, CUPOLA_LAUNCH_QUEUED = 1, CUPOLA_LAUNCH_FAILED = 2 };
typedef void (*cupola_launch_observer)(int stage, cupola_kernel* kernel,
                                       const cupola_dimensions* dimensions,
                                       const cupola_attributes* attributes, void* const* pointers,
                                       cupola_stream* stream);
/* Sets the observer of all launches of this process through this library; NULL: none. The launches
 * of a graph's nodes are not observed. Other threads may still be in the previous observer when
 * this returns. Without an observer, a launch costs what it did before. */
CUPOLA_API void cupola_launch_observe(cupola_launch_observer observer);

#ifdef __cplusplus
}
#endif

#endif /* CUPOLA_LAUNCH_H */
