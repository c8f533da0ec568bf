// csrc/image/image.hpp - reads device images: fatbin, cubin (ELF) or PTX text. Bytes are
// untrusted: every read is within the given size. Both csrc/runtime and csrc/cpu use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "image/entry.hpp"

namespace cupola::image {

// Offset of the first character of PTX text that is neither white space nor comment.
std::size_t skip_blank(std::string_view text);

// The beginning of PTX: `.version 9.0`, then `.target sm_90a`. Nothing where the text has another.
struct Heading {
    unsigned version = 0;          // 90 for 9.0
    unsigned target = 0;           // 90 for sm_90a
    char variant = 0;              // 'a' or 'f'; 0 for a target without suffix
    std::string_view number = {};  // the version's characters in the text, "9.0"
};
std::optional<Heading> heading(std::string_view ptx);

// The kind that the first bytes show; nothing if they show none of the three.
std::optional<Kind> detect_kind(const void* data, std::size_t size);

// Decompresses an entry's payload. Throws Error if the payload is damaged, or if the entry's header
// gives an impossible size.
std::string unpack(const Entry& entry);

// The options for ptxas in the header of an entry of PTX; empty where it has none, or none within
// the header.
std::string_view assembler_options(const Entry& entry);

// A fatbin of this entry alone, with its payload decompressed. Thus a driver gets ptxas's options,
// which PTX text does not have. The entry must be of a fatbin. Throws Error.
std::string alone(const Entry& entry, std::string_view payload);

// All entries, in the image's order. Throws Error with the fault and its offset: the image is
// truncated, has an impossible size, or an unknown version.
std::vector<Entry> read(const void* data, std::size_t size);

// The images within the bytes of a library or program, those of fatbins first.
struct Embedded {
    std::size_t fatbins = 0, texts = 0;
    std::vector<Entry> entries;
};
Embedded find_images(std::string_view library);

// Size of an image that is known only by its address, as in cuModuleLoadData: from the headers of a
// fatbin or ELF file, or up to the NUL of a text.
std::size_t size_of(const void* data);

}  // namespace cupola::image
