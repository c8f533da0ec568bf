// csrc/image/image.cpp - reads the headers of device images, each within the given bytes.
#include "image/image.hpp"

#include <cstring>

#include "image/bytes.hpp"
#include "image/cubin.hpp"

namespace cupola::image {
namespace {

constexpr std::uint64_t fatbin_header = 16;

bool starts_with_elf(const void* data) {
    return std::memcmp(data,
                       "\x7f"
                       "ELF",
                       4) == 0;
}

Entry text(std::string_view bytes, int architecture) {
    bytes = bytes.substr(0, bytes.find('\0'));
    const Heading found = heading(bytes).value_or(Heading());
    Entry entry{Kind::ptx, architecture, false, bytes};
    if (!architecture) entry.architecture = static_cast<int>(found.target);
    entry.variant = found.variant;
    return entry;
}

Entry cubin(std::string_view bytes) {
    const Cubin read(bytes);
    Entry entry{Kind::cubin, read.architecture(), false, bytes};
    entry.variant = read.variant();
    return entry;
}

constexpr std::uint64_t lz4_flag = 0x2000, zstd_flag = 0x8000;
constexpr std::uint64_t architecture_flag = 0x100000, family_flag = 0x200000;  // of sm_90a, sm_100f

Entry compressed_entry(const Bytes& all, std::uint64_t at, Kind kind, int architecture,
                       std::string_view payload) {
    const auto packed = all.at<std::uint32_t>(at + 16, "an entry's compressed size");
    const auto flags = all.at<std::uint64_t>(at + 40, "an entry's flags");
    if (packed > payload.size())
        throw Error("the compressed size of an entry is larger than the entry");
    Entry entry{kind, architecture, true, payload};
    if (packed) entry.payload = payload.substr(0, packed);
    entry.packing = flags & zstd_flag ? Entry::Packing::zstd : Entry::Packing::lz4;
    entry.unpacked = all.at<std::uint64_t>(at + 56, "an entry's unpacked size");
    return entry;
}

std::vector<Entry> fatbin(std::string_view bytes) {
    const Bytes file(bytes);
    if (auto version = file.at<std::uint16_t>(4, "the version"); version != 1)
        throw Error("fatbin version " + std::to_string(version) + " is not supported; expected 1");
    const auto header = file.at<std::uint16_t>(6, "the header's size");
    if (header < fatbin_header) throw Error("the fatbin's header is smaller than 16 bytes");
    const auto length = file.at<std::uint64_t>(8, "the fatbin's size");
    file.part(header, length, "the fatbin");
    const Bytes all(bytes.substr(0, header + length));
    std::vector<Entry> entries;
    for (std::uint64_t at = header; at < all.size();) {
        const auto kind = all.at<std::uint16_t>(at, "an entry's kind");
        const auto entry = all.at<std::uint32_t>(at + 4, "the size of an entry's header");
        const auto padded = all.at<std::uint64_t>(at + 8, "an entry's size");
        const auto packed = all.at<std::uint32_t>(at + 16, "an entry's compressed size");
        const auto options = all.at<std::uint32_t>(at + 20, "the offset of an entry's options");
        const auto architecture = all.at<std::uint32_t>(at + 28, "an entry's architecture");
        const auto flags = all.at<std::uint64_t>(at + 40, "an entry's flags");
        // NVIDIA's driver does not check this offset, so it is checked here.
        if (entry < 64 || options > entry)
            throw Error("the header of the entry at offset " + std::to_string(at) + " is invalid");
        const std::string_view payload = all.part(at + entry, padded, "an entry");
        const Kind what = kind == 1 ? Kind::ptx : kind == 2 ? Kind::cubin : Kind::other;
        const int sm = architecture < 1000 ? static_cast<int>(architecture) : 0;
        if (packed || flags & (lz4_flag | zstd_flag))
            entries.push_back(compressed_entry(all, at, what, sm, payload));
        else if (what == Kind::other)
            entries.push_back({what, sm, false, payload});
        else
            entries.push_back(what == Kind::ptx ? text(payload, sm) : cubin(payload));
        entries.back().number = kind;
        entries.back().variant = flags & architecture_flag ? 'a' : flags & family_flag ? 'f' : '\0';
        entries.back().header = all.part(at, entry, "an entry's header");
        at += entry + padded;  // both are within the file, checked above
    }
    return entries;
}

}  // namespace

std::optional<Kind> detect_kind(const void* data, std::size_t size) {
    if (size >= 4 && starts_with_elf(data)) return Kind::cubin;
    std::uint32_t magic = 0;
    if (size >= 4) std::memcpy(&magic, data, 4);
    if (magic == fatbin_magic) return Kind::fatbin;
    const std::string_view text(static_cast<const char*>(data), size);
    const std::size_t at = skip_blank(text);
    if (at < size && text.compare(at, 8, ".version") == 0) return Kind::ptx;
    return {};
}

std::vector<Entry> read(const void* data, std::size_t size) {
    const std::optional<Kind> kind = detect_kind(data, size);
    if (!kind)
        throw Error(
            "it is neither a fatbin, nor a cubin, nor PTX text (which begins with .version)");
    const std::string_view bytes(static_cast<const char*>(data), size);
    if (*kind == Kind::fatbin) return fatbin(bytes);
    return {*kind == Kind::cubin ? cubin(bytes) : text(bytes, 0)};
}

std::string alone(const Entry& entry, std::string_view payload) {
    const auto put = [](std::string& bytes, std::size_t at, auto value) {
        std::memcpy(&bytes[at], &value, sizeof value);
    };
    std::string header(entry.header);
    const std::uint64_t flags = Bytes(header).at<std::uint64_t>(40, "an entry's flags");
    const std::uint64_t size = (payload.size() + 8) / 8 * 8;  // with a NUL after a text
    put(header, 8, size);
    put(header, 16, std::uint32_t{0});
    put(header, 40, flags & ~(lz4_flag | zstd_flag));
    put(header, 56, std::uint64_t{0});
    std::string bytes(fatbin_header, '\0');
    put(bytes, 0, fatbin_magic);
    put(bytes, 4, std::uint16_t{1});
    put(bytes, 6, static_cast<std::uint16_t>(fatbin_header));
    put(bytes, 8, header.size() + size);
    bytes.append(header).append(payload).resize(fatbin_header + header.size() + size);
    return bytes;
}

std::size_t size_of(const void* data) {
    // The size is not known yet: read no further than the magic number proves that bytes exist.
    std::uint32_t magic = 0;
    if (std::strlen(static_cast<const char*>(data)) < 4) {
        // A binary image has no NUL in its first three bytes; a text may be shorter.
        return std::strlen(static_cast<const char*>(data));
    }
    std::memcpy(&magic, data, 4);
    if (magic == fatbin_magic) {
        const Bytes header({static_cast<const char*>(data), fatbin_header});
        return static_cast<std::size_t>(header.at<std::uint16_t>(6, "the header's size") +
                                        header.at<std::uint64_t>(8, "the fatbin's size"));
    }
    if (!starts_with_elf(data)) return std::strlen(static_cast<const char*>(data));
    const Bytes header({static_cast<const char*>(data), elf_header});
    const auto sections = header.at<std::uint64_t>(40, "the table of sections");
    const auto segments = header.at<std::uint64_t>(32, "the table of segments");
    const std::uint64_t end = sections + std::uint64_t{header.at<std::uint16_t>(58, "")} *
                                             header.at<std::uint16_t>(60, "");
    const std::uint64_t other = segments + std::uint64_t{header.at<std::uint16_t>(54, "")} *
                                               header.at<std::uint16_t>(56, "");
    return static_cast<std::size_t>(end > other ? end : other);
}

}  // namespace cupola::image
