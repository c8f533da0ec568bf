/* cupola/kernel.h - kernels and their parameters; part of the C ABI. */
#ifndef CUPOLA_KERNEL_H
#define CUPOLA_KERNEL_H

#include "cupola/module.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cupola_kernel cupola_kernel;

/* The kinds of a parameter. Several are set where the image does not decide. */
enum {
    CUPOLA_POINTER = 1,
    CUPOLA_INTEGER = 2,
    CUPOLA_FLOAT = 4, /* f16, f32, f64 by size */
    CUPOLA_STRUCT = 8,
    CUPOLA_UNSIGNED = 16, /* with CUPOLA_INTEGER: known to be unsigned */
    CUPOLA_SIGNED = 32,   /* with CUPOLA_INTEGER: known to be signed */
    CUPOLA_CONST = 64,    /* with CUPOLA_POINTER: known to be read-only */
    CUPOLA_BFLOAT = 128,  /* with CUPOLA_FLOAT: two bytes are bfloat16 */
    CUPOLA_HIDDEN = 256   /* of the last parameters: added by the compiler. No caller gives it, and
                             its bytes in a launch's buffer are zero. */
};

typedef struct cupola_parameter {
    uint32_t offset, size; /* bytes */
    uint32_t kind;         /* a set of the above */
    const char* name;      /* "" where unknown */
    const char* type;      /* the C type of the value or of the pointer's target, or "" */
} cupola_parameter;

/* Finds a kernel by exact name, demangled name, or unambiguous demangled base name. */
CUPOLA_API int cupola_module_kernel(cupola_module* module, const char* name, cupola_kernel** out);
CUPOLA_API const char* cupola_kernel_name(const cupola_kernel* kernel);
CUPOLA_API const char* cupola_kernel_demangled(const cupola_kernel* kernel);
/* For messages: the C++ name without parameters. */
CUPOLA_API const char* cupola_kernel_title(const cupola_kernel* kernel);
CUPOLA_API int cupola_kernel_device(const cupola_kernel* kernel);
/* The kernel's module, without a reference: the kernel keeps it. */
CUPOLA_API cupola_module* cupola_kernel_module(const cupola_kernel* kernel);
CUPOLA_API void* cupola_kernel_handle(const cupola_kernel* kernel); /* CUfunction */
CUPOLA_API size_t cupola_kernel_parameter_count(const cupola_kernel* kernel);
CUPOLA_API const cupola_parameter* cupola_kernel_parameters(const cupola_kernel* kernel);
CUPOLA_API size_t cupola_kernel_parameter_bytes(const cupola_kernel* kernel);
/* The source of a kernel's parameter types; a later source in this list is better. */
enum {
    CUPOLA_KNOWN_SIZES = 0,    /* the image only: sizes, offsets, kinds from PTX */
    CUPOLA_KNOWN_DECLARED = 1, /* cupola_kernel_declare_text */
    CUPOLA_KNOWN_COMPILED = 2, /* the compiler: the kernel's C++ name, or cupola_kernel_describe */
    CUPOLA_KNOWN_MANIFEST = 3  /* cupola_kernel_declare */
};
CUPOLA_API int cupola_kernel_known(const cupola_kernel* kernel);

/* Call the next three only while no other thread uses the kernel. An earlier result of
 * cupola_kernel_parameters stays readable as long as the kernel, but is out of date. */

/* Sets parameters from a manifest: checks them against the driver, then replaces kinds, names and
 * types. */
CUPOLA_API int cupola_kernel_declare(cupola_kernel* kernel, const cupola_parameter* parameters,
                                     size_t count);
/* Sets parameters from a user's C parameter list, such as "float a, const float* x, size_t n".
 * CUPOLA_ERROR_VALUE where the list does not fit the known sizes, offsets and kinds. */
CUPOLA_API int cupola_kernel_declare_text(cupola_kernel* kernel, const char* parameters);
/* Sets parameters from a compiler. `type` is NULL or the mangled name of a function template whose
 * argument is the type of a pointer to the kernel. `names` are the parameters' names; each may be
 * NULL. Values that do not fit the image are ignored. */
CUPOLA_API int cupola_kernel_describe(cupola_kernel* kernel, const char* type,
                                      const char* const* names, size_t count);
CUPOLA_API int cupola_kernel_attribute(const cupola_kernel* kernel, int attribute,
                                       int* value); /* CUfunction_attribute */
/* The blocks that fit on one multiprocessor at the same time. */
CUPOLA_API int cupola_kernel_occupancy(const cupola_kernel* kernel, int block, size_t shared,
                                       int* blocks);
/* The block size of highest occupancy, and the smallest grid that fills the device with blocks of
 * this size. */
CUPOLA_API int cupola_kernel_suggest(const cupola_kernel* kernel, size_t shared, int* block,
                                     int* grid);
CUPOLA_API void cupola_kernel_retain(cupola_kernel* kernel);
CUPOLA_API void cupola_kernel_release(cupola_kernel* kernel);

#ifdef __cplusplus
}
#endif

#endif /* CUPOLA_KERNEL_H */
