/* cupola/output.h - where the text of printf in kernels goes; part of the C ABI.
 *
 * By default the driver writes it to C's stdout: NVIDIA's when the host synchronizes, the CPU
 * device when the grid has ended. A program with an output of its own, as Python's sys.stdout is,
 * sets a sink. While the sink wants text, it gets that of each later launch, in the order of the
 * prints. It gets it when the host synchronizes with a stream, an event or a device, and before the
 * next launch. Text beyond CU_LIMIT_PRINTF_FIFO_SIZE is lost, the oldest first.
 *
 * NVIDIA's driver has no call for this. There the file descriptors 1 and 2 lead to a file while the
 * host synchronizes, if a loaded image has printf or assert. The text of other threads, written at
 * that time, goes to the sink too. */
#ifndef CUPOLA_OUTPUT_H
#define CUPOLA_OUTPUT_H

#include "cupola/library.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sets the sink, before images with printf are loaded; NULL twice removes it. Both functions are
 * called by threads that launch or synchronize, which hold no lock of the library. `wanted` returns
 * 1 while the sink takes text. `write` must take all of it, also after `wanted` returned 0. */
CUPOLA_API void cupola_output_set_sink(int (*wanted)(void),
                                       void (*write)(const char* text, size_t bytes));
/* Gives text that the CPU device holds to the sink, of all that has been printed until now. */
CUPOLA_API void cupola_output_deliver(void);
/* Of this thread's last failure, if it is CUDA_ERROR_ASSERT, seven lines: the file, line and
 * function of the assertion, the indices of its block and of its thread ("0 0 0"), the kernel, the
 * expression. An unknown kernel is an empty line. "" where nothing is known. */
CUPOLA_API const char* cupola_output_assertion(void);

#ifdef __cplusplus
}
#endif

#endif /* CUPOLA_OUTPUT_H */
