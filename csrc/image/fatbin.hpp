// csrc/image/fatbin.hpp - the headers of a fatbin and of its entries.
#pragma once

#include <cstdint>
#include <string_view>

#include "image/bytes.hpp"
#include "image/entry.hpp"

namespace cupola::image {

inline constexpr std::uint32_t fatbin_magic = 0xba55ed50;
inline constexpr std::uint64_t fatbin_header = 16;

// Flags of an entry: its compression; of the targets sm_90a and sm_100f.
inline constexpr std::uint64_t lz4_flag = 0x2000, zstd_flag = 0x8000;
inline constexpr std::uint64_t architecture_flag = 0x100000, family_flag = 0x200000;

struct FatbinHeader {
    std::uint64_t size = 0, length = 0;  // of the header, and of the entries
};

// Throws Error where the header is invalid.
FatbinHeader read_header(std::string_view bytes);

struct EntryHeader {
    Entry entry;                          // without its payload
    std::uint64_t size = 0, payload = 0;  // of the header, and of the payload after it
    bool compressed = false;
    std::uint32_t packed = 0;    // size of the compressed bytes in the payload; 0: all of it
    std::uint64_t unpacked = 0;  // size that a compressed payload has after decompression
};

// The header of the entry at an offset. Throws Error where it is invalid.
EntryHeader read_entry_header(const Bytes& all, std::uint64_t at);

}  // namespace cupola::image
