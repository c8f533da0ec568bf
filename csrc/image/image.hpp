// csrc/image/image.hpp - what lies in a device image: fatbin, cubin (ELF) or PTX text. Bytes are
// untrusted: every read is bounded by the size given. Used by csrc/runtime and by csrc/cpu; knows
// nothing of either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cupola::image {

enum class Kind { fatbin, cubin, ptx };

// What the first bytes say; nothing where they are none of the three.
std::optional<Kind> sniff(const void* data, std::size_t size);

struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
};
// Nothing is wrong with the bytes: what they need is not on this machine.
struct Unsupported : Error {
    using Error::Error;
};

// One piece of code in an image. A bare cubin or PTX text is an image with one entry.
struct Entry {
    Kind kind;                 // cubin or ptx
    int architecture = 0;      // 75 for sm_75 / compute_75
    bool compressed = false;   // the payload is not readable as it is
    std::string_view payload;  // inside the image's bytes; PTX without its terminating NUL
    enum class Packing { none, lz4, zstd } packing = Packing::none;
    std::uint64_t unpacked = 0;  // bytes of a compressed one, as its header says
};

// A compressed entry's payload. Throws Error where it is damaged or would be out of proportion to
// its size, and Unsupported where what it is compressed with can't be read here: zstd is through
// libzstd.so.1, which is looked for when it is first needed.
std::string unpack(const Entry& entry);

// All entries, in the image's order. Throws Error with a text that says what is wrong with the
// bytes and at which offset: truncated, an impossible size, an unknown version.
std::vector<Entry> read(const void* data, std::size_t size);

// Names of the variables in device memory that a cubin's symbol table has; none where it has no
// such table. Throws Error.
std::vector<std::string> variables(std::string_view cubin);

// Size of an image of which only the address is known, as cuModuleLoadData is given it: from a
// fatbin's or ELF's own headers, or up to the NUL of a text.
std::size_t size_of(const void* data);

}  // namespace cupola::image
