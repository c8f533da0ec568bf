// csrc/image/fatbin.cpp - reads the headers of a fatbin and of its entries.
#include "image/fatbin.hpp"

#include <string>

namespace cupola::image {
FatbinHeader read_header(std::string_view bytes) {
    const Bytes file(bytes);
    if (file.at<std::uint32_t>(0, "the magic number") != fatbin_magic)
        throw Error("its fatbin has no magic number");
    if (auto version = file.at<std::uint16_t>(4, "the version"); version != 1)
        throw Error("fatbin version " + std::to_string(version) + " is not supported; expected 1");
    const auto header = file.at<std::uint16_t>(6, "the header's size");
    if (header < fatbin_header) throw Error("the fatbin's header is smaller than 16 bytes");
    return {header, file.at<std::uint64_t>(8, "the fatbin's size")};
}

EntryHeader read_entry_header(const Bytes& all, std::uint64_t at) {
    EntryHeader found;
    const auto kind = all.at<std::uint16_t>(at, "an entry's kind");
    found.size = all.at<std::uint32_t>(at + 4, "the size of an entry's header");
    found.payload = all.at<std::uint64_t>(at + 8, "an entry's size");
    found.packed = all.at<std::uint32_t>(at + 16, "an entry's compressed size");
    const auto options = all.at<std::uint32_t>(at + 20, "the offset of an entry's options");
    const auto architecture = all.at<std::uint32_t>(at + 28, "an entry's architecture");
    const auto flags = all.at<std::uint64_t>(at + 40, "an entry's flags");
    // NVIDIA's driver does not check this offset, so it is checked here.
    if (found.size < 64 || options > found.size)
        throw Error("the header of the entry at offset " + std::to_string(at) + " is invalid");
    found.compressed = found.packed || flags & (lz4_flag | zstd_flag);
    if (found.compressed)
        found.unpacked = all.at<std::uint64_t>(at + 56, "an entry's unpacked size");
    Entry& entry = found.entry;
    entry.kind = kind == 1 ? Kind::ptx : kind == 2 ? Kind::cubin : Kind::other;
    entry.architecture = architecture < 1000 ? static_cast<int>(architecture) : 0;
    if (found.compressed)
        entry.packing = flags & zstd_flag ? Entry::Packing::zstd : Entry::Packing::lz4;
    entry.number = kind;
    entry.variant = flags & architecture_flag ? 'a' : flags & family_flag ? 'f' : '\0';
    entry.header = all.part(at, found.size, "an entry's header");
    return found;
}

}  // namespace cupola::image
