/* cupola/bench.h - the C++ floor: loops that call the driver directly, with nothing of the
 * library's own between two calls. What the library adds is measured against them, on machines
 * without a compiler, too (python -m cupola bench). Everything is the driver's own: CUfunction,
 * CUstream, addresses. */
#ifndef CUPOLA_BENCH_H
#define CUPOLA_BENCH_H

#include "cupola/copy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Seconds that `count` calls of cuLaunchKernel take the host; with `wait` until all their work is
 * done. `parameters` are the arguments' addresses, as cuLaunchKernel takes them. */
CUPOLA_API int cupola_bench_launch(int device, void* function, void* stream, uint32_t grid,
                                   uint32_t block, void** parameters, int count, int wait,
                                   double* seconds);
/* Seconds that `count` copies take, each waited for: CUPOLA_TO_DEVICE or CUPOLA_TO_HOST, between
 * `address` and `host`. */
CUPOLA_API int cupola_bench_copy(int device, uint64_t address, void* host, size_t bytes,
                                 int direction, void* stream, int count, double* seconds);

#ifdef __cplusplus
}
#endif

#endif /* CUPOLA_BENCH_H */
