// csrc/runtime/abi/texture.cpp - the functions of cupola/texture.h.
#include "cupola/texture.h"

#include "runtime/context/device.hpp"
#include "runtime/texture/texture.hpp"

using namespace cupola;

int cupola_cuda_array_create(int device, const cupola_cuda_array_shape* shape,
                             cupola_cuda_array** out) {
    return guard([&] {
        check_not_null(out, "out");
        *out = wrap(make<CudaArray>(context(device), *check_not_null(shape, "shape")).detach());
    });
}

void* cupola_cuda_array_handle(const cupola_cuda_array* array) {
    return array ? unwrap(array)->handle : nullptr;
}
int cupola_cuda_array_device(const cupola_cuda_array* array) {
    return array ? unwrap(array)->context.ordinal : -1;
}
void cupola_cuda_array_retain(cupola_cuda_array* array) {
    if (array) unwrap(array)->retain();
}
void cupola_cuda_array_release(cupola_cuda_array* array) {
    if (array) unwrap(array)->release();
}

int cupola_copy_box(const cupola_box* to, const cupola_box* from, size_t width, size_t rows,
                    size_t depth, cupola_stream* stream) {
    return guard([&] {
        copy_box(*check_not_null(to, "to"), *check_not_null(from, "from"), width, rows, depth,
                 stream_of(stream));
    });
}

int cupola_texture_of_array(cupola_cuda_array* array, const cupola_sampling* sampling,
                            cupola_texture** out) {
    return guard([&] {
        check_not_null(out, "out");
        auto texels = Ref<CudaArray>::share(unwrap(check_not_null(array, "array")));
        *out =
            wrap(make<Texture>(std::move(texels), *check_not_null(sampling, "sampling")).detach());
    });
}

int cupola_texture_of_memory(int device, const cupola_texture_memory* memory,
                             const cupola_sampling* sampling, cupola_texture** out) {
    return guard([&] {
        check_not_null(out, "out");
        *out = wrap(make<Texture>(context(device), *check_not_null(memory, "memory"),
                                  *check_not_null(sampling, "sampling"))
                        .detach());
    });
}

uint64_t cupola_texture_handle(const cupola_texture* texture) {
    return texture ? unwrap(texture)->handle : 0;
}
int cupola_texture_device(const cupola_texture* texture) {
    return texture ? unwrap(texture)->context.ordinal : -1;
}
void cupola_texture_retain(cupola_texture* texture) {
    if (texture) unwrap(texture)->retain();
}
void cupola_texture_release(cupola_texture* texture) {
    if (texture) unwrap(texture)->release();
}

int cupola_surface_create(cupola_cuda_array* array, cupola_surface** out) {
    return guard([&] {
        check_not_null(out, "out");
        auto texels = Ref<CudaArray>::share(unwrap(check_not_null(array, "array")));
        *out = wrap(make<Surface>(std::move(texels)).detach());
    });
}

uint64_t cupola_surface_handle(const cupola_surface* surface) {
    return surface ? unwrap(surface)->handle : 0;
}
int cupola_surface_device(const cupola_surface* surface) {
    return surface ? unwrap(surface)->context.ordinal : -1;
}
void cupola_surface_retain(cupola_surface* surface) {
    if (surface) unwrap(surface)->retain();
}
void cupola_surface_release(cupola_surface* surface) {
    if (surface) unwrap(surface)->release();
}

int cupola_module_bind_texture(cupola_module* module, const char* name,
                               const cupola_texture* texture) {
    return guard([&] {
        Module& m = *unwrap(check_not_null(module, "module"));
        unwrap(check_not_null(texture, "texture"))->bind(m, check_not_null(name, "name"));
    });
}

int cupola_module_bind_surface(cupola_module* module, const char* name,
                               const cupola_cuda_array* array) {
    return guard([&] {
        Module& m = *unwrap(check_not_null(module, "module"));
        bind_surface(m, check_not_null(name, "name"), *unwrap(check_not_null(array, "array")));
    });
}

int cupola_module_has_texture(cupola_module* module, const char* name, int* found) {
    return guard([&] {
        Module& m = *unwrap(check_not_null(module, "module"));
        *check_not_null(found, "found") =
            texture_reference(m, check_not_null(name, "name")) ? 1 : 0;
    });
}
