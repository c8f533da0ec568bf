// csrc/dropin/recorder/image.cpp - finds the variables and parameters of an image.
#include "dropin/recorder/image.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <exception>

#include "image/cubin.hpp"
#include "image/image.hpp"
#include "ptx/declared_kernels.hpp"

namespace cupola::recorder {
namespace {

// The runtime's description of a fatbin in a program.
struct Wrapper {
    std::uint32_t magic, version;
    const void* data;
};

const void* unwrapped(const void* data) {
    // The magic number has no NUL, so a shorter text is not read beyond its end.
    if (std::strncmp(static_cast<const char*>(data), "\xb1\x43\x62\x46", 4) != 0) return data;
    Wrapper found;
    std::memcpy(&found, data, sizeof found);
    return found.data;
}

void add_new(std::vector<std::string>& names, std::vector<std::string> found) {
    for (std::string& name : found)
        if (std::find(names.begin(), names.end(), name) == names.end())
            names.push_back(std::move(name));
}

void place(const std::vector<ptx::DeclaredParameter>& declared, std::vector<Parameter>& out) {
    std::size_t at = 0;
    for (const ptx::DeclaredParameter& one : declared) {
        const std::size_t element = ptx::bytes_of(one.type);
        const std::size_t align = one.align ? one.align : std::max<std::size_t>(element, 1);
        at = (at + align - 1) / align * align;
        out.push_back({at, element * one.count});
        at += out.back().size;
    }
}

}  // namespace

Image::Image(const void* data) {
    try {
        data = unwrapped(data);
        const std::size_t size = image::size_of(data);
        Dl_info info;
        if (dladdr(data, &info)) {
            bytes_ = {static_cast<const char*>(data), size};
        } else {
            copy_.assign(static_cast<const char*>(data), size);
            bytes_ = copy_;
        }
    } catch (const std::exception&) {
        // The driver knows the form; a launch of its kernels is left out.
    }
}

Image::Image(std::string content) : copy_(std::move(content)), bytes_(copy_) {}

void Image::read() {
    if (was_read_) return;
    was_read_ = true;
    try {
        for (const image::Entry& entry : image::read(bytes_.data(), bytes_.size())) {
            if (entry.kind != image::Kind::ptx && entry.kind != image::Kind::cubin) continue;
            std::string code = entry.compressed ? image::unpack(entry) : std::string(entry.payload);
            if (entry.kind == image::Kind::ptx) {
                add_new(variables_, ptx::declared_variables(code));
                texts_.push_back(std::move(code));
                continue;
            }
            const image::Cubin cubin{code};
            add_new(variables_, cubin.variables());
            for (const image::Cubin::Kernel& kernel : cubin.kernels()) {
                std::vector<Parameter> found;
                for (const auto& one : kernel.parameters) found.push_back({one.offset, one.size});
                kernels_.emplace_back(kernel.name, std::move(found));
            }
        }
    } catch (const std::exception&) {
        // An entry that can't be read adds nothing.
    }
}

const std::vector<std::string>& Image::variables() {
    read();
    return variables_;
}

bool Image::parameters(const std::string& kernel, std::vector<Parameter>& out) {
    read();
    for (const auto& [name, found] : kernels_) {
        if (name != kernel) continue;
        out = found;
        return true;
    }
    for (const std::string& text : texts_) {
        ptx::DeclaredKernels kernels(text);
        while (kernels.next()) {
            std::vector<ptx::DeclaredParameter> declared;
            if (kernels.name() != kernel || !kernels.parameters(declared)) continue;
            place(declared, out);
            return true;
        }
    }
    return false;
}

}  // namespace cupola::recorder
