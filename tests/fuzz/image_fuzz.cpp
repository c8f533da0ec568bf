// tests/fuzz/image_fuzz.cpp - bytes of any kind as a device image: entries inside them, or an
// error.
#include <cstdlib>

#include "image/image.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    try {
        for (const auto& entry : cupola::image::read(data, size)) {
            const auto* begin = reinterpret_cast<const unsigned char*>(entry.payload.data());
            if (entry.payload.empty()) continue;
            if (begin < data || begin + entry.payload.size() > data + size) std::abort();
            if (entry.kind == cupola::image::Kind::cubin && !entry.compressed)
                cupola::image::variables(entry.payload);
            if (entry.compressed) cupola::image::unpack(entry);
        }
    } catch (const cupola::image::Error&) {
    }
    return 0;
}
