/* cupola/launch.h - arguments and launches; part of the C ABI. */
#ifndef CUPOLA_LAUNCH_H
#define CUPOLA_LAUNCH_H

#include "cupola/kernel.h"
#include "cupola/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Each writes argument `index` into a buffer of cupola_kernel_parameter_bytes, checked against
 * the parameter: its kind, its width, its range. */
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
/* Keeps and returns the error of an argument that the caller refuses, CUPOLA_ERROR_TYPE or _VALUE,
 * in the words of the functions above: what is expected there, and `got`. */
CUPOLA_API int cupola_argument_refuse(const cupola_kernel* kernel, size_t index, int status,
                                      const char* got);

typedef struct cupola_dimensions {
    uint32_t grid[3];  /* blocks */
    uint32_t block[3]; /* threads a block */
    uint32_t shared;   /* bytes of dynamic shared memory a block */
} cupola_dimensions;

enum {
    CUPOLA_COOPERATIVE = 1, /* all blocks are resident at a time, so that they can wait for all */
    CUPOLA_DEPENDENT = 2,   /* may start before the kernel in front of it is done: the kernel waits
                               by itself (programmatic dependent launch) */
    CUPOLA_PRIORITY = 4,    /* `priority` counts, in place of the stream's */
    CUPOLA_CARVEOUT = 8     /* `carveout` counts */
};

/* What a launch can ask for beside its dimensions; all zeros ask for nothing. */
typedef struct cupola_attributes {
    uint32_t cluster[3]; /* blocks of a cluster, which divide the grid; zeros: none, or those that
                            the kernel was compiled for */
    uint32_t flags;      /* a set of the above */
    int32_t priority;    /* smaller goes first */
    int32_t carveout;    /* percent of a multiprocessor's memory to be shared memory */
} cupola_attributes;

/* Queues the kernel on the stream. `attributes` may be NULL. The buffer is copied before the call
 * returns. */
CUPOLA_API int cupola_launch(cupola_kernel* kernel, const cupola_dimensions* dimensions,
                             const cupola_attributes* attributes, const void* buffer,
                             cupola_stream* stream);
/* As cupola_launch of what cupola_launch_check took, for a caller who holds a lock that device work
 * or a callback may want, as Python's is: where the call could wait, or launches are traced, it
 * does nothing and gives CUPOLA_WOULD_WAIT, so that the caller lets the lock go and calls
 * cupola_launch. `used`, unless NULL, becomes the stream, without a reference: it is that of the
 * call where that was not NULL, else valid until this thread's current stream changes. */
#define CUPOLA_WOULD_WAIT (-1)
CUPOLA_API int cupola_launch_at_once(cupola_kernel* kernel, const cupola_dimensions* dimensions,
                                     const cupola_attributes* attributes, const void* buffer,
                                     cupola_stream* stream, cupola_stream** used);
/* The checks of cupola_launch without the launch. */
CUPOLA_API int cupola_launch_check(const cupola_kernel* kernel, const cupola_dimensions* dimensions,
                                   const cupola_attributes* attributes);
/* The line of the program that this thread's next launches come from, for the errors of a fault;
 * NULL: none. The text is copied. From the first call on, launches count as traced. */
CUPOLA_API void cupola_launch_origin(const char* line);

/* Where each argument lies in a launch's buffer: cupola_kernel_parameter_count pointers. */
CUPOLA_API int cupola_launch_point(const cupola_kernel* kernel, const void* buffer,
                                   void** pointers);
/* As cupola_launch, of dimensions and attributes (or NULL) which cupola_launch_check took for this
 * kernel and are not looked at again, and with the arguments' addresses in place of the buffer. */
CUPOLA_API int cupola_launch_pointed(cupola_kernel* kernel, const cupola_dimensions* dimensions,
                                     const cupola_attributes* attributes, void** pointers,
                                     cupola_stream* stream);

#ifdef __cplusplus
}
#endif

#endif /* CUPOLA_LAUNCH_H */
