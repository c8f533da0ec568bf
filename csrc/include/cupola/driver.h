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

#include "cupola/cupola.h"

#ifdef __cplusplus
extern "C" {
#endif

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
