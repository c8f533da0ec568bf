// csrc/cpu/api/link.cpp - cu* entry points: linking.
#include "cpu/device/module/link.hpp"

#include "cpu/device/base/file.hpp"
#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"

// cuda.h maps the names of the first forms to the second ones.
#undef cuLinkCreate
#undef cuLinkAddData
#undef cuLinkAddFile

using namespace cupola::cpu;

CUPOLA_API CUresult cuLinkCreate_v2(unsigned int count, CUjit_option* options, void** values,
                                    CUlinkState* out) {
    return entry([&] {
        require(out);
        Context::usable();
        auto link = std::make_shared<Link>(count, options, values);
        *out = link->handle();
        Driver::get().links.add(std::move(link));
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void* data,
                                     size_t size, const char* name, unsigned int count,
                                     CUjit_option* options, void** values) {
    return entry([&] {
        require(data && size);
        Context::usable();
        JitOptions of_input(count, options, values);
        Driver::get().links.get(state)->add(type, {static_cast<const char*>(data), size}, name,
                                            of_input);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char* path,
                                     unsigned int count, CUjit_option* options, void** values) {
    return entry([&] {
        require(path);
        Context::usable();
        JitOptions of_input(count, options, values);
        const auto link = Driver::get().links.get(state);
        link->add(type, read_file(path), path, of_input);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuLinkComplete(CUlinkState state, void** image, size_t* size) {
    return entry([&] {
        require(image && size);
        Context::usable();
        const std::string_view linked = Driver::get().links.get(state)->complete();
        *image = const_cast<char*>(linked.data());
        *size = linked.size() + 1;  // includes the NUL
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuLinkDestroy(CUlinkState state) {
    return entry([&] {
        require(Driver::get().links.remove(state) != nullptr, CUDA_ERROR_INVALID_HANDLE);
        return CUDA_SUCCESS;
    });
}

// The first forms are equal: the types of their parameters have the same sizes.
CUPOLA_API CUresult cuLinkCreate(unsigned int count, CUjit_option* options, void** values,
                                 CUlinkState* out) {
    return cuLinkCreate_v2(count, options, values, out);
}

CUPOLA_API CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void* data, size_t size,
                                  const char* name, unsigned int count, CUjit_option* options,
                                  void** values) {
    return cuLinkAddData_v2(state, type, data, size, name, count, options, values);
}

CUPOLA_API CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char* path,
                                  unsigned int count, CUjit_option* options, void** values) {
    return cuLinkAddFile_v2(state, type, path, count, options, values);
}
