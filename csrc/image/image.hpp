// csrc/image/image.hpp - reads device images: fatbin, cubin (ELF) or PTX text. Bytes are
// untrusted: every read is within the given size. Both csrc/runtime and csrc/cpu use it.
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

// The kind that the first bytes show; nothing if they show none of the three.
std::optional<Kind> detect_kind(const void* data, std::size_t size);

struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
};
// The bytes are valid, but a library that they need is not on this machine.
struct Unsupported : Error {
    using Error::Error;
};

// One piece of code in an image. A bare cubin or PTX text is an image with one entry.
struct Entry {
    Kind kind;                 // cubin or ptx
    int architecture = 0;      // 75 for sm_75 / compute_75
    bool compressed = false;   // `unpack` decompresses the payload
    std::string_view payload;  // a view of the image's bytes; PTX without its terminating NUL
    enum class Packing { none, lz4, zstd } packing = Packing::none;
    std::uint64_t unpacked = 0;  // size after decompression, from the entry's header
};

// Whether a device of that compute capability (90 for 9.0) runs the entry. The capability must be
// at least the entry's architecture; for a cubin the major versions must also be equal.
bool runs_on(const Entry& entry, int capability);

// Decompresses an entry's payload. Throws Error if the payload is damaged, or if the entry's header
// gives an impossible size. zstd needs libzstd.so.1, which is loaded at the first use; throws
// Unsupported if it is not found.
std::string unpack(const Entry& entry);

// All entries, in the image's order. Throws Error with the fault and its offset: the image is
// truncated, has an impossible size, or an unknown version.
std::vector<Entry> read(const void* data, std::size_t size);

// Names of the device variables in a cubin's symbol table; none if it has no table. Throws Error.
std::vector<std::string> variables(std::string_view cubin);

// Size of an image that is known only by its address, as in cuModuleLoadData: from the headers of a
// fatbin or ELF file, or up to the NUL of a text.
std::size_t size_of(const void* data);

}  // namespace cupola::image
