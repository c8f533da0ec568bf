# cupola/_texture.pxd - cupola/texture.h; internal.

from libc.stdint cimport uint64_t

from cupola.handles cimport (
    cupola_cuda_array, cupola_module, cupola_stream, cupola_surface, cupola_texture,
)

cdef extern from "cupola/texture.h" nogil:
    enum:
        CUPOLA_ARRAY_LAYERED
        CUPOLA_ARRAY_SURFACE
        CUPOLA_BOX_HOST
        CUPOLA_BOX_DEVICE
        CUPOLA_BOX_ARRAY
        CUPOLA_BOX_UNIFIED

    ctypedef struct cupola_cuda_array_shape:
        size_t width
        size_t height
        size_t depth
        int format
        unsigned channels
        unsigned flags

    int cupola_cuda_array_create(
        int device, const cupola_cuda_array_shape* shape, cupola_cuda_array** out)
    void* cupola_cuda_array_handle(const cupola_cuda_array* array)
    void cupola_cuda_array_retain(cupola_cuda_array* array)
    void cupola_cuda_array_release(cupola_cuda_array* array)

    ctypedef struct cupola_box:
        int kind
        const cupola_cuda_array* array
        uint64_t address
        size_t x
        size_t y
        size_t z
        size_t pitch
        size_t height

    int cupola_copy_box(
        const cupola_box* to, const cupola_box* source, size_t width, size_t rows, size_t depth,
        cupola_stream* stream)

    ctypedef struct cupola_sampling:
        int address[3]
        int linear
        int normalized_coordinates
        int normalized_values
        float border[4]

    ctypedef struct cupola_texture_memory:
        uint64_t address
        size_t width
        size_t height
        size_t pitch
        int format
        unsigned channels

    int cupola_texture_of_array(
        cupola_cuda_array* array, const cupola_sampling* sampling, cupola_texture** out)
    int cupola_texture_of_memory(
        int device, const cupola_texture_memory* memory, const cupola_sampling* sampling,
        cupola_texture** out)
    uint64_t cupola_texture_handle(const cupola_texture* texture)
    void cupola_texture_release(cupola_texture* texture)

    int cupola_surface_create(cupola_cuda_array* array, cupola_surface** out)
    uint64_t cupola_surface_handle(const cupola_surface* surface)
    void cupola_surface_release(cupola_surface* surface)

    int cupola_module_bind_texture(
        cupola_module* module, const char* name, const cupola_texture* texture)
    int cupola_module_bind_surface(
        cupola_module* module, const char* name, const cupola_cuda_array* array)
    int cupola_module_has_texture(cupola_module* module, const char* name, int* found)
