/* cupola/image.h - reads images without a driver; part of the C ABI.
 *
 * Bytes are untrusted: every read is within the given size. The functions copy nothing: the bytes
 * must stay as they are until the last reference to what was read from them is released. */
#ifndef CUPOLA_IMAGE_H
#define CUPOLA_IMAGE_H

#include "cupola/library.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cupola_image_kind {
    CUPOLA_IMAGE_OTHER = 0, /* an entry that only NVIDIA's tools read */
    CUPOLA_IMAGE_PTX = 1,
    CUPOLA_IMAGE_CUBIN = 2, /* machine code of a GPU */
    CUPOLA_IMAGE_FATBIN = 3,
    CUPOLA_IMAGE_LIBRARY = 4 /* a library or program with fatbins or PTX inside */
} cupola_image_kind;

typedef struct cupola_image cupola_image; /* what a file holds */

/* One piece of code. */
typedef struct cupola_image_entry {
    uint32_t kind;         /* CUPOLA_IMAGE_PTX, _CUBIN or _OTHER */
    uint32_t number;       /* of the kind, in a fatbin */
    uint32_t architecture; /* 90 for sm_90 or compute_90; 0 where it is unknown */
    uint32_t version;      /* of PTX, 90 for 9.0; 0 where it is unknown */
    const char* bytes;     /* decompressed; PTX without its terminating NUL */
    size_t size;
    uint32_t variant; /* 'a' or 'f' of sm_90a or sm_100f; 0 for a target without suffix */
} cupola_image_entry;

/* Reads a fatbin, a cubin, PTX, or a library or program, which may have none of them inside. */
CUPOLA_API int cupola_image_read(const void* bytes, size_t size, cupola_image** out);
CUPOLA_API int cupola_image_kind_of(const cupola_image* image, uint32_t* kind);
/* How many fatbins and PTX texts a library has inside. */
CUPOLA_API int cupola_image_embedded(const cupola_image* image, size_t* fatbins, size_t* texts);
/* All entries, in the order of the bytes. They stay until the image is released. */
CUPOLA_API int cupola_image_entries(const cupola_image* image, const cupola_image_entry** entries,
                                    size_t* count);
/* The index of the entry that a device takes first; SIZE_MAX where it takes none. `capability` is
 * 90 for 9.0, and `ptx` the newest PTX version that the driver takes (90 for 9.0; 0 for no limit).
 * `machine_code` is 0 for the CPU device, 1 for a GPU, and 2 for nvJitLink, which links for a GPU
 * and takes LTO-IR first. `reason` says why; it stays until this thread's next call. */
CUPOLA_API int cupola_image_choose(const cupola_image* image, uint32_t capability, uint32_t ptx,
                                   uint32_t machine_code, size_t* index, const char** reason);
/* Packs a fatbin whose entries are not compressed, and calls `take` with the result before it
 * returns. `zstd -d` unpacks it; all functions that read images do so, an entry at a time. Machine
 * code that is equal to that of an older architecture, which runs on the same devices, is left out.
 * `level` is zstd's, from 1 to 19. */
CUPOLA_API int cupola_image_pack(const void* bytes, size_t size, int level,
                                 void (*take)(void* owner, const void* image, size_t size),
                                 void* owner);
/* Writes each PTX text of a fatbin, an object or a library, or a PTX text, in the lowest version
 * that it needs, so that older drivers take it. Calls `take` with the result before it returns. The
 * size does not change. The entries must not be compressed. */
CUPOLA_API int cupola_image_lower(const void* bytes, size_t size,
                                  void (*take)(void* owner, const void* image, size_t size),
                                  void* owner);
CUPOLA_API void cupola_image_retain(cupola_image* image);
CUPOLA_API void cupola_image_release(cupola_image* image);

typedef struct cupola_code cupola_code; /* what one piece of code has inside */

typedef struct cupola_code_parameter {
    uint32_t offset, size; /* bytes */
    uint32_t kind;         /* CUPOLA_POINTER ... of cupola/kernel.h: all that it can be */
} cupola_code_parameter;

/* A kernel's layout and resources: bytes, but for the registers. */
typedef struct cupola_code_kernel {
    const char* name; /* the symbol */
    const cupola_code_parameter* parameters;
    size_t parameter_count;
    uint32_t known; /* 0 where PTX has a list of parameters that can't be read */
    uint64_t registers, shared, constant;
    uint64_t local; /* a thread's stack: the kernel's frame and those of called functions */
} cupola_code_kernel;

/* Reads a cubin or PTX, such as the bytes of an entry. PTX need not be valid, and has no resources.
 */
CUPOLA_API int cupola_code_read(const void* bytes, size_t size, cupola_code** out);
/* All kernels: of a cubin by name, of PTX in its order. They stay until the code is released. */
CUPOLA_API int cupola_code_kernels(const cupola_code* code, const cupola_code_kernel** kernels,
                                   size_t* count);
CUPOLA_API void cupola_code_retain(cupola_code* code);
CUPOLA_API void cupola_code_release(cupola_code* code);

typedef struct cupola_lines cupola_lines; /* source lines of PTX, by its .file and .loc */

typedef struct cupola_lines_place {
    uint32_t file, line, column; /* file: an index; UINT32_MAX where no .loc applies */
    uint32_t call;               /* the inlined call that it is in; 0: the function itself */
} cupola_lines_place;

typedef struct cupola_lines_call {
    uint32_t parent;             /* the inlined call around it; 0: the function itself */
    uint32_t file, line, column; /* where the call stands */
    const char* function;        /* the label of the callee's name; "" where there is none */
} cupola_lines_call;

/* Reads a PTX text. Directives that are malformed are left out. */
CUPOLA_API int cupola_lines_read(const void* text, size_t size, cupola_lines** out);
/* The place that applies to each line of the text; lines count from 1. The lists stay until the
 * object is released. */
CUPOLA_API int cupola_lines_places(const cupola_lines* lines, const cupola_lines_place** places,
                                   size_t* count);
CUPOLA_API int cupola_lines_calls(const cupola_lines* lines, const cupola_lines_call** calls,
                                  size_t* count);
CUPOLA_API int cupola_lines_files(const cupola_lines* lines, const char* const** files,
                                  size_t* count);
CUPOLA_API void cupola_lines_retain(cupola_lines* lines);
CUPOLA_API void cupola_lines_release(cupola_lines* lines);

/* The lowest version of PTX that a text needs. */
typedef struct cupola_ptx_version {
    uint32_t written, needed; /* 95 for 9.5: the text's .version, and the lowest one */
    uint32_t known;           /* 0: this library does not know `what`, so `needed` is `written` */
    uint32_t line;            /* of the first statement that needs it, and what it is: */
    const char* what;         /* "mbarrier.try_wait", ".target sm_90a" */
    const char* function;     /* the kernel or function around it; "" outside of them */
    const char* cuda;         /* the oldest CUDA whose drivers take `needed`, "12.0" */
} cupola_ptx_version;

/* Reads a PTX text, which need not be complete. The names stay until this thread's next call. */
CUPOLA_API int cupola_ptx_version_of(const char* text, size_t size, cupola_ptx_version* out);

/* Of the log of a link or a load: a line for each symbol that it reports as undefined, with the C++
 * name and the remedy; "" where it reports none. The text stays until this thread's next call. */
CUPOLA_API const char* cupola_image_undefined(const char* log);

#ifdef __cplusplus
}
#endif

#endif /* CUPOLA_IMAGE_H */
