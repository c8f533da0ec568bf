// csrc/image/entry.hpp - one piece of code in a device image.
#pragma once

#include <cstdint>
#include <string_view>

#include "image/error.hpp"

namespace cupola::image {

// The most bytes that an image unpacks to.
inline constexpr std::uint64_t max_bytes = std::uint64_t{1} << 30;

enum class Kind { fatbin, cubin, ptx, other };

// The number that marks LTO-IR in a fatbin. Such an entry has the kind `other`, because only
// linkers read it.
inline constexpr unsigned lto_ir = 8;

// One piece of code in an image. A bare cubin or PTX text is an image with one entry.
struct Entry {
    Kind kind = Kind::other;   // cubin or ptx; other for what only NVIDIA's tools read
    int architecture = 0;      // 75 for sm_75 / compute_75
    bool compressed = false;   // `unpack` decompresses the payload
    std::string_view payload;  // a view of the image's bytes; PTX without its terminating NUL
    // `frame`: the payload is a frame of a packed fatbin, which may have several entries inside.
    enum class Packing { none, lz4, zstd, frame } packing = Packing::none;
    std::uint64_t unpacked = 0;    // size after decompression, from the entry's header
    std::uint64_t content = 0;     // size of the frame after decompression
    std::uint64_t skipped = 0;     // bytes of that before the entry
    unsigned number = 0;           // the number that a fatbin has for the kind
    char variant = 0;              // 'a' or 'f' of sm_90a or sm_100f; 0 without suffix
    std::string_view header = {};  // in a fatbin: the entry's header, with options for ptxas
};

}  // namespace cupola::image
