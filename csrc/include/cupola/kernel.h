/* cupola/kernel.h - kernels and their parameters; part of the C ABI. */
#ifndef CUPOLA_KERNEL_H
#define CUPOLA_KERNEL_H

#include "cupola/module.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cupola_kernel cupola_kernel;

/* What an argument may be: a set of these, several where the image leaves it open. */
enum {
    CUPOLA_POINTER = 1,
    CUPOLA_INTEGER = 2,
    CUPOLA_FLOAT = 4, /* f16, f32, f64 by size */
    CUPOLA_STRUCT = 8,
    CUPOLA_UNSIGNED = 16, /* with CUPOLA_INTEGER: known to have no sign */
    CUPOLA_SIGNED = 32,   /* with CUPOLA_INTEGER: known to have one */
    CUPOLA_CONST = 64,    /* with CUPOLA_POINTER: known to be read only */
    CUPOLA_BFLOAT = 128   /* with CUPOLA_FLOAT: two bytes are bfloat16 */
};

typedef struct cupola_parameter {
    uint32_t offset, size; /* bytes */
    uint32_t kind;         /* a set of the above */
    const char* name;      /* "" where it is not known */
    const char* type;      /* a pointer's element type or a value's type as C writes it, or "" */
} cupola_parameter;

/* By exact name, by demangled name, or by demangled base name where only one kernel has it. */
CUPOLA_API int cupola_module_kernel(cupola_module* module, const char* name, cupola_kernel** out);
CUPOLA_API const char* cupola_kernel_name(const cupola_kernel* kernel);
CUPOLA_API const char* cupola_kernel_demangled(const cupola_kernel* kernel);
/* For messages: the name as C++ writes it, without its parameters. */
CUPOLA_API const char* cupola_kernel_title(const cupola_kernel* kernel);
CUPOLA_API int cupola_kernel_device(const cupola_kernel* kernel);
CUPOLA_API void* cupola_kernel_handle(const cupola_kernel* kernel); /* CUfunction */
CUPOLA_API size_t cupola_kernel_parameter_count(const cupola_kernel* kernel);
CUPOLA_API const cupola_parameter* cupola_kernel_parameters(const cupola_kernel* kernel);
CUPOLA_API size_t cupola_kernel_parameter_bytes(const cupola_kernel* kernel);
/* Where the types of a kernel's parameters come from, the best source last. */
enum {
    CUPOLA_KNOWN_SIZES = 0,    /* the image alone: sizes, offsets, what PTX tells of kinds */
    CUPOLA_KNOWN_DECLARED = 1, /* cupola_kernel_declare_text */
    CUPOLA_KNOWN_COMPILED = 2, /* the compiler: the kernel's C++ name, or cupola_kernel_describe */
    CUPOLA_KNOWN_MANIFEST = 3  /* cupola_kernel_declare */
};
CUPOLA_API int cupola_kernel_known(const cupola_kernel* kernel);

/* The next three are not for a kernel that other threads use. What cupola_kernel_parameters gave
 * before stays readable as long as the kernel, and is to be asked for again. */

/* What a manifest knows: checked against what the driver says, then it replaces kinds, names and
 * types. */
CUPOLA_API int cupola_kernel_declare(cupola_kernel* kernel, const cupola_parameter* parameters,
                                     size_t count);
/* What a user knows: a list of C parameters, as in "float a, const float* x, size_t n". It is
 * checked against sizes, offsets and kinds that are known; CUPOLA_ERROR_VALUE where it does not
 * fit. */
CUPOLA_API int cupola_kernel_declare_text(cupola_kernel* kernel, const char* parameters);
/* What a compiler knows: `type` is the mangled name of a function template whose argument is the
 * type of a pointer to the kernel, or NULL; `names` are the parameters', each may be NULL. What
 * does not fit the image is left out. */
CUPOLA_API int cupola_kernel_describe(cupola_kernel* kernel, const char* type,
                                      const char* const* names, size_t count);
CUPOLA_API int cupola_kernel_attribute(const cupola_kernel* kernel, int attribute,
                                       int* value); /* CUfunction_attribute */
/* Blocks that fit on one multiprocessor at a time. */
CUPOLA_API int cupola_kernel_occupancy(const cupola_kernel* kernel, int block, size_t shared,
                                       int* blocks);
/* A block size of highest occupancy and the smallest grid that fills the device with it. */
CUPOLA_API int cupola_kernel_suggest(const cupola_kernel* kernel, size_t shared, int* block,
                                     int* grid);
CUPOLA_API void cupola_kernel_retain(cupola_kernel* kernel);
CUPOLA_API void cupola_kernel_release(cupola_kernel* kernel);

#ifdef __cplusplus
}
#endif

#endif /* CUPOLA_KERNEL_H */
