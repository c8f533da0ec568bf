// csrc/image/packed.hpp - packed fatbins: files that `zstd -d` unpacks to a fatbin, with an index,
// so that one entry can be unpacked alone. Bytes are untrusted, as those of all images.
//
//   a skippable frame   its content is the index: `tag`, then the fatbin's header, and the header
//                       of each entry
//   frames              their contents, joined, are the fatbin; each begins at the header of an
//                       entry, the first at the fatbin's
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "image/entry.hpp"

namespace cupola::image {

inline constexpr std::uint32_t skippable_magic = 0x184d2a50;  // of zstd's format
inline constexpr std::string_view packed_tag("cupola 1", 8);
// The bytes before the fatbin's header: the header of the skippable frame, and the tag.
inline constexpr std::size_t before_header = 8 + packed_tag.size();

// Whether the bytes begin as a packed fatbin does.
bool is_packed(std::string_view bytes);

// The digit at the end of a packed fatbin's tag, also of a format that this version can't read.
std::optional<char> packed_format(std::string_view bytes);

// Size of the packed fatbin that the bytes begin with. Throws Error.
std::size_t packed_size(std::string_view bytes);

// The entries, as `read` returns them. Throws Error.
std::vector<Entry> read_packed(std::string_view bytes);

// The whole fatbin. Throws Error.
std::string unpack_all(std::string_view bytes);

// A frame of zstd whose content has that size. Throws Error, also where the size is impossible.
std::string unpack_frame(std::string_view frame, std::uint64_t content);

}  // namespace cupola::image
