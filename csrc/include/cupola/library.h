/* cupola/library.h - the library itself, and the errors of its functions; part of the C ABI. */
#ifndef CUPOLA_LIBRARY_H
#define CUPOLA_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CUPOLA_ABI_VERSION 1

#if defined(__GNUC__)
#define CUPOLA_API __attribute__((visibility("default")))
#else
#define CUPOLA_API
#endif

CUPOLA_API int cupola_abi_version(void);          /* the CUPOLA_ABI_VERSION of its build */
CUPOLA_API const char* cupola_build_id(void);     /* of headers and declarations of one build */
CUPOLA_API const char* cupola_version(void);      /* "0.1.0" */
CUPOLA_API const char* cupola_library_path(void); /* of the loaded libcupola.so itself */

/* The folder of the caches, by CUPOLA_CACHE_DIR, XDG_CACHE_HOME and HOME: an absolute path, or ""
   where there is no cache. Valid until this thread's next call. */
CUPOLA_API const char* cupola_cache_folder(void);
/* The limit of the cache of images in bytes, by CUPOLA_CACHE_SIZE. */
CUPOLA_API int cupola_cache_size(uint64_t* out);

typedef enum cupola_status {
    CUPOLA_SUCCESS = 0,
    CUPOLA_ERROR_DRIVER = 1,        /* a driver call failed: see code and name */
    CUPOLA_ERROR_OUT_OF_MEMORY = 2, /* a call failed for lack of memory */
    CUPOLA_ERROR_VALUE = 3,         /* an argument has a wrong value */
    CUPOLA_ERROR_TYPE = 4,          /* an argument has a wrong type */
    CUPOLA_ERROR_IMAGE = 5,         /* broken, or has no code for the device: see log */
    CUPOLA_ERROR_NOT_FOUND = 6,     /* no kernel, variable or device of that name */
    CUPOLA_ERROR_NO_DRIVER = 7,     /* no usable driver: the text lists those tried */
    CUPOLA_ERROR_FORKED = 8,        /* the driver does not survive fork() */
    CUPOLA_ERROR_INTERNAL = 9
} cupola_status;

typedef struct cupola_error_info {
    int status;       /* cupola_status */
    int code;         /* the driver's CUresult, 0 where no driver call failed */
    const char* name; /* "CUDA_ERROR_...", "" where no driver call failed */
    const char* text; /* what went wrong, and what to do */
    const char* log;  /* the JIT compiler's log, "" where there is none */
} cupola_error_info;

/* Text of this thread's last failure; valid until the thread's next failure. */
CUPOLA_API const char* cupola_last_error(void);
CUPOLA_API void cupola_last_error_info(cupola_error_info* out);

#ifdef __cplusplus
}
#endif

#endif /* CUPOLA_LIBRARY_H */
