/* cupola/bench.h - loops that call the driver directly, to measure the library's overhead.
 *
 * `python -m cupola bench` uses them, also on machines without a compiler. All handles are the
 * driver's own: CUfunction, CUstream, addresses. */
#ifndef CUPOLA_BENCH_H
#define CUPOLA_BENCH_H

#include "cupola/copy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The host's seconds for `count` calls of cuLaunchKernel; with `wait`, until their work is done.
 * `parameters` are the arguments' addresses, as for cuLaunchKernel. */
CUPOLA_API int cupola_bench_launch(int device, void* function, void* stream, uint32_t grid,
                                   uint32_t block, void** parameters, int count, int wait,
                                   double* seconds);
/* The seconds for `count` copies between `address` and `host`, each waited for. `direction` is
 * CUPOLA_TO_DEVICE or CUPOLA_TO_HOST. */
CUPOLA_API int cupola_bench_copy(int device, uint64_t address, void* host, size_t bytes,
                                 int direction, void* stream, int count, double* seconds);

#ifdef __cplusplus
}
#endif

#endif /* CUPOLA_BENCH_H */
