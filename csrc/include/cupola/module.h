/* cupola/module.h - loaded images, and linking them; part of the C ABI. */
#ifndef CUPOLA_MODULE_H
#define CUPOLA_MODULE_H

#include "cupola/library.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cupola_module cupola_module;

/* Loads a fatbin, cubin or PTX text into the device's primary context. The bytes may be freed
 * afterwards. */
CUPOLA_API int cupola_module_load(int device, const void* image, size_t size, cupola_module** out);
/* The same for an image whose kernels neither print nor assert: it is not searched for that, which
 * takes milliseconds for compressed code. */
CUPOLA_API int cupola_module_load_silent(int device, const void* image, size_t size,
                                         cupola_module** out);
typedef struct cupola_link_input {
    const void* data; /* PTX text, a fatbin or a cubin */
    size_t size;
    const char* name; /* for messages */
} cupola_link_input;

/* Links several images with the driver's linker and calls `take` with the result before it returns.
 * The CPU device links PTX. */
CUPOLA_API int cupola_link(int device, const cupola_link_input* inputs, size_t count,
                           void (*take)(void* owner, const void* image, size_t size), void* owner);
CUPOLA_API int cupola_module_device(const cupola_module* module);
/* Names as in the image (mangled for C++). */
CUPOLA_API int cupola_module_kernel_count(cupola_module* module, size_t* count);
CUPOLA_API int cupola_module_kernel_name(cupola_module* module, size_t index, const char** name);
CUPOLA_API int cupola_module_global(cupola_module* module, const char* name, uint64_t* address,
                                    size_t* size);
/* Variables that the image lists, by its names; an error where the image can't be read. */
CUPOLA_API int cupola_module_variable_count(cupola_module* module, size_t* count);
CUPOLA_API int cupola_module_variable_name(cupola_module* module, size_t index, const char** name);
/* Sets PTX text of the same source, which is not loaded. If the image is machine code only, kernels
 * created later read their parameter lists from it. */
CUPOLA_API int cupola_module_describe(cupola_module* module, const char* ptx, size_t size);
/* Waits for all work of the device, then unloads the image. Later uses of the module, its kernels
 * and variables fail. No other thread may launch one of its kernels at the same time. */
CUPOLA_API int cupola_module_unload(cupola_module* module);
CUPOLA_API int cupola_module_loaded(const cupola_module* module); /* 0 after it was unloaded */
CUPOLA_API void cupola_module_retain(cupola_module* module);
CUPOLA_API void cupola_module_release(cupola_module* module);

#ifdef __cplusplus
}
#endif

#endif /* CUPOLA_MODULE_H */
