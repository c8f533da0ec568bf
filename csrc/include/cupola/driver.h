/* cupola/driver.h - the CUDA driver's own functions, without linking it; part of the C ABI.
 *
 * These are the driver functions that the library itself calls, in the driver of device 0: NVIDIA's
 * or the CPU device. The CPU device beside another driver is not called by them. Each has the
 * signature of its name and version in the CUDA toolkit's cudaTypedefs.h:
 *
 *     const cupola_driver_symbol* found = cupola_driver_find("cuMemAlloc");
 *     PFN_cuMemAlloc_v3020 allocate = (PFN_cuMemAlloc_v3020)found->function;
 *
 * Any thread can call them at any time. The first call loads and initializes the driver; where that
 * fails, cupola_driver_get gives the reason. Make a context current with the driver's functions or
 * with cupola_device_push. Without a usable driver, in a forked child and during process exit they
 * return CUDA_ERROR_NOT_INITIALIZED. Functions that the driver lacks return
 * CUDA_ERROR_NOT_SUPPORTED. */
#ifndef CUPOLA_DRIVER_H
#define CUPOLA_DRIVER_H

#include "cupola/library.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cupola_driver_info {
    const char* kind;   /* "cuda": NVIDIA's library; "cpu": cupola's CPU device */
    const char* path;   /* the file that was loaded */
    int version;        /* cuDriverGetVersion: 13000 is CUDA 13.0 */
    const char* reason; /* one line: why this driver was chosen */
    const char* notice; /* a warning about a rejected driver, or "" */
} cupola_driver_info;

/* Selects "auto", "cuda", "cpu" or a path, which overrides CUPOLA_DRIVER. Fails after a driver was
 * loaded. */
CUPOLA_API int cupola_driver_select(const char* choice);
/* Loads and initializes the driver if needed, as every call below does. */
CUPOLA_API int cupola_driver_get(cupola_driver_info* out);
CUPOLA_API int cupola_driver_loaded(void); /* 1 if a driver is loaded */
/* 1 if the CPU device is loaded and is not the driver of device 0: see cupola_device_cpu. */
CUPOLA_API int cupola_driver_beside(void);
/* A line for each place that was searched: the chosen driver, or why one was rejected. Empty before
 * the first use of a driver. */
CUPOLA_API const char* cupola_driver_report(void);

typedef struct cupola_driver_symbol {
    const char* name; /* "cuMemAlloc" */
    int version;      /* 3020: of the signature, as in PFN_cuMemAlloc_v3020 */
    void (*function)(void);
} cupola_driver_symbol;

/* All symbols, in no specified order. */
CUPOLA_API const cupola_driver_symbol* cupola_driver_symbols(size_t* count);
/* NULL where the library has no symbol of that name. */
CUPOLA_API const cupola_driver_symbol* cupola_driver_find(const char* name);
/* Converts the result of a driver function to a status. For a failure, the text of the code and the
 * function's name are kept for cupola_last_error. */
CUPOLA_API int cupola_driver_check(int code, const char* call);

#ifdef __cplusplus
}
#endif

#endif /* CUPOLA_DRIVER_H */
