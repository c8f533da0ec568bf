// tests/fuzz/image_fuzz.cpp - bytes of any kind as a device image or a library: entries inside them
// with their kernels, or an error.
#include <cstdlib>

#include "image/cubin.hpp"
#include "image/image.hpp"

namespace {

void check_kernels(std::string_view bytes) {
    const cupola::image::Cubin cubin(bytes);
    cubin.variables();
    for (const cupola::image::Cubin::Kernel& kernel : cubin.kernels()) {
        std::uint64_t end = 0;
        for (const auto& parameter : kernel.parameters) {
            if (parameter.offset < end || parameter.size == 0) std::abort();
            end = std::uint64_t{parameter.offset} + parameter.size;
        }
    }
}

void check(const std::vector<cupola::image::Entry>& entries, std::string_view all) {
    for (const auto& entry : entries) {
        if (entry.payload.empty()) continue;
        const char* begin = entry.payload.data();
        if (begin < all.data() || begin + entry.payload.size() > all.data() + all.size())
            std::abort();
        try {
            if (entry.kind == cupola::image::Kind::cubin && !entry.compressed)
                check_kernels(entry.payload);
            cupola::image::assembler_options(entry);
            if (entry.compressed) cupola::image::unpack(entry);
        } catch (const cupola::image::Error&) {
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const std::string_view all(reinterpret_cast<const char*>(data), size);
    check(cupola::image::find_images(all).entries, all);
    try {
        check(cupola::image::read(data, size), all);
    } catch (const cupola::image::Error&) {
    }
    return 0;
}
