/* cupola/texture.h - CUDA arrays, textures and surfaces; part of the C ABI. */
#ifndef CUPOLA_TEXTURE_H
#define CUPOLA_TEXTURE_H

#include "cupola/module.h"
#include "cupola/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cupola_cuda_array cupola_cuda_array;
typedef struct cupola_texture cupola_texture;
typedef struct cupola_surface cupola_surface;

/* The type of one channel, numbered as the driver's CUarray_format. */
enum {
    CUPOLA_TEXEL_UINT8 = 1,
    CUPOLA_TEXEL_UINT16 = 2,
    CUPOLA_TEXEL_UINT32 = 3,
    CUPOLA_TEXEL_INT8 = 8,
    CUPOLA_TEXEL_INT16 = 9,
    CUPOLA_TEXEL_INT32 = 10,
    CUPOLA_TEXEL_FLOAT16 = 16,
    CUPOLA_TEXEL_FLOAT32 = 32
};
enum { CUPOLA_ARRAY_LAYERED = 1, CUPOLA_ARRAY_SURFACE = 2 };
/* Texels of 1, 2 or 4 channels. Height and depth are 0 for axes that the array does not have; the
 * depth of a layered array is its number of layers. */
typedef struct cupola_cuda_array_shape {
    size_t width, height, depth;
    int format;
    unsigned channels;
    unsigned flags;
} cupola_cuda_array_shape;
CUPOLA_API int cupola_cuda_array_create(int device, const cupola_cuda_array_shape* shape,
                                        cupola_cuda_array** out);
CUPOLA_API void* cupola_cuda_array_handle(const cupola_cuda_array* array); /* CUarray */
CUPOLA_API int cupola_cuda_array_device(const cupola_cuda_array* array);
CUPOLA_API void cupola_cuda_array_retain(cupola_cuda_array* array);
/* With the last reference it waits for all work of the device. So do textures and surfaces. */
CUPOLA_API void cupola_cuda_array_release(cupola_cuda_array* array);

/* One side of a copy of boxes: a CUDA array, or memory with rows `pitch` bytes apart and slices of
 * `height` rows. The box begins `x` bytes, `y` rows and `z` slices from the start. */
enum { CUPOLA_BOX_HOST = 1, CUPOLA_BOX_DEVICE = 2, CUPOLA_BOX_ARRAY = 3, CUPOLA_BOX_UNIFIED = 4 };
typedef struct cupola_box {
    int kind;
    const cupola_cuda_array* array; /* CUPOLA_BOX_ARRAY */
    uint64_t address;               /* the others */
    size_t x, y, z, pitch, height;
} cupola_box;
/* Queues a copy of `depth` slices of `rows` rows of `width` bytes. A pageable host source is read
 * before the call returns. */
CUPOLA_API int cupola_copy_box(const cupola_box* to, const cupola_box* from, size_t width,
                               size_t rows, size_t depth, cupola_stream* stream);

enum {
    CUPOLA_ADDRESS_WRAP = 0,
    CUPOLA_ADDRESS_CLAMP = 1,
    CUPOLA_ADDRESS_MIRROR = 2,
    CUPOLA_ADDRESS_BORDER = 3
};
/* How a texture is read. Integers are read as they are, or as floats of 0 to 1 (-1 to 1). */
typedef struct cupola_sampling {
    int address[3]; /* CUPOLA_ADDRESS_..., along x, y and z */
    int linear;     /* 1: interpolate between texels; 0: the nearest one */
    int normalized_coordinates;
    int normalized_values;
    float border[4];
} cupola_sampling;
/* A texture keeps its array, or the memory of cupola at its address. */
CUPOLA_API int cupola_texture_of_array(cupola_cuda_array* array, const cupola_sampling* sampling,
                                       cupola_texture** out);
/* Device memory: with a height of 0 one row of `width` texels, else rows `pitch` bytes apart. */
typedef struct cupola_texture_memory {
    uint64_t address;
    size_t width, height, pitch;
    int format;
    unsigned channels;
} cupola_texture_memory;
CUPOLA_API int cupola_texture_of_memory(int device, const cupola_texture_memory* memory,
                                        const cupola_sampling* sampling, cupola_texture** out);
CUPOLA_API uint64_t cupola_texture_handle(const cupola_texture* texture); /* CUtexObject */
CUPOLA_API int cupola_texture_device(const cupola_texture* texture);
CUPOLA_API void cupola_texture_retain(cupola_texture* texture);
CUPOLA_API void cupola_texture_release(cupola_texture* texture);

/* The array needs CUPOLA_ARRAY_SURFACE. */
CUPOLA_API int cupola_surface_create(cupola_cuda_array* array, cupola_surface** out);
CUPOLA_API uint64_t cupola_surface_handle(const cupola_surface* surface); /* CUsurfObject */
CUPOLA_API int cupola_surface_device(const cupola_surface* surface);
CUPOLA_API void cupola_surface_retain(cupola_surface* surface);
CUPOLA_API void cupola_surface_release(cupola_surface* surface);

/* Binds a module's texture or surface reference, as images of CUDA 11 and older have them, for
 * later launches. The caller keeps the texture or array as long as launches use the reference. */
CUPOLA_API int cupola_module_bind_texture(cupola_module* module, const char* name,
                                          const cupola_texture* texture);
CUPOLA_API int cupola_module_bind_surface(cupola_module* module, const char* name,
                                          const cupola_cuda_array* array);
/* Whether the module has a texture reference of that name. */
CUPOLA_API int cupola_module_has_texture(cupola_module* module, const char* name, int* found);

#ifdef __cplusplus
}
#endif

#endif /* CUPOLA_TEXTURE_H */
