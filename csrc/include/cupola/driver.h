/* cupola/driver.h - the CUDA driver's own functions, without linking it; part of the C ABI.
 *
 * These are the functions that the library itself calls, of the driver that is in use: NVIDIA's or
 * the CPU device. Each has the signature that cudaTypedefs.h of the CUDA toolkit has for the name
 * and the version:
 *
 *     const cupola_driver_symbol* found = cupola_driver_find("cuMemAlloc");
 *     PFN_cuMemAlloc_v3020 allocate = (PFN_cuMemAlloc_v3020)found->function;
 *
 * They can be called at any time, by any thread. The first call of any of them loads the driver
 * (see cupola_driver_get, which tells why where that fails) and initialises it; a context is made
 * current as with the driver itself, or by cupola_device_push. Where the driver can't be loaded, in
 * a forked child and once the process exits they return CUDA_ERROR_NOT_INITIALIZED; of what an old
 * driver does not have CUDA_ERROR_NOT_SUPPORTED. */
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
    const char* reason; /* one line: why this one was taken */
    const char* notice; /* a warning about one that was passed over, "" where there is none */
} cupola_driver_info;

/* Takes "auto", "cuda", "cpu" or a path in place of the environment's CUPOLA_DRIVER. Fails once a
 * driver is loaded. */
CUPOLA_API int cupola_driver_select(const char* choice);
/* Loads and initialises the driver where that has not happened yet, as every call below does. */
CUPOLA_API int cupola_driver_get(cupola_driver_info* out);
CUPOLA_API int cupola_driver_loaded(void); /* 1 once a driver is loaded */
/* A line for each place where a driver was looked for: found and taken, or why it was passed
 * over. Empty before a driver was asked for. */
CUPOLA_API const char* cupola_driver_report(void);

typedef struct cupola_driver_symbol {
    const char* name; /* "cuMemAlloc" */
    int version;      /* 3020: of the signature, as in PFN_cuMemAlloc_v3020 */
    void (*function)(void);
} cupola_driver_symbol;

/* All of them, in an order that is the library's own. */
CUPOLA_API const cupola_driver_symbol* cupola_driver_symbols(size_t* count);
/* NULL where the library has none of that name. */
CUPOLA_API const cupola_driver_symbol* cupola_driver_find(const char* name);
/* What a driver's function returned, as a status of this library: CUPOLA_SUCCESS for 0; else the
 * text of the code, with the function's name, is kept for cupola_last_error. */
CUPOLA_API int cupola_driver_check(int code, const char* call);

#ifdef __cplusplus
}
#endif

#endif /* CUPOLA_DRIVER_H */
