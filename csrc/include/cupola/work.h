/* cupola/work.h - the device work of a call, recorded once and queued again for other addresses. */
#ifndef CUPOLA_WORK_H
#define CUPOLA_WORK_H

#include "cupola/memory.h"
#include "cupola/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cupola_work cupola_work;
typedef struct cupola_work_plan cupola_work_plan;

/* Records the launches, fills, copies and allocations of this thread on the stream, until
 * cupola_work_end. With `skip`, launches, fills and copies are not sent to the device. `*out` is
 * NULL where the work can't be recorded: the thread records already, or the stream is captured, or
 * launches are traced, logged, profiled or observed. */
CUPOLA_API int cupola_work_begin(cupola_stream* stream, int skip, cupola_work** out);
/* Call it on the thread that called cupola_work_begin. */
CUPOLA_API void cupola_work_end(cupola_work* work);
CUPOLA_API void cupola_work_release(cupola_work* work);
/* Marks the work that this thread records: it can't be queued again. For work of other libraries.
 */
CUPOLA_API void cupola_work_refuse(void);
/* Whether the work can be queued again: it has no copy from or to the host, and no wait. */
CUPOLA_API int cupola_work_usable(const cupola_work* work);
/* The number of allocations, and the address and the bytes of one. They stay allocated until the
 * work is released. */
CUPOLA_API size_t cupola_work_allocations(const cupola_work* work);

typedef struct cupola_extent {
    uint64_t address;
    uint64_t bytes;
} cupola_extent;

CUPOLA_API int cupola_work_allocation(const cupola_work* work, size_t index, cupola_extent* out);
/* Makes a plan from two records of the same call with operands at other addresses. `*out` is NULL
 * where the two differ in more than the addresses of operands and allocations. */
CUPOLA_API int cupola_work_plan_create(const cupola_work* first, const cupola_work* second,
                                       const cupola_extent* first_operands,
                                       const cupola_extent* second_operands, size_t count,
                                       cupola_work_plan** out);
CUPOLA_API void cupola_work_plan_release(cupola_work_plan* plan);
/* Queues the planned work. `addresses` are those of the operands, then those of new allocations.
 * With `at_once`, returns CUPOLA_WOULD_WAIT, and has done nothing, where the call may wait. */
CUPOLA_API int cupola_work_plan_run(cupola_work_plan* plan, const uint64_t* addresses, size_t count,
                                    cupola_stream* stream, int at_once);

#ifdef __cplusplus
}
#endif

#endif /* CUPOLA_WORK_H */
