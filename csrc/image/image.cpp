// csrc/image/image.cpp - reads the headers of device images, each within the given bytes.
#include "image/image.hpp"

#include <cstring>

#include "image/bytes.hpp"
#include "image/cubin.hpp"
#include "image/fatbin.hpp"
#include "image/packed.hpp"

namespace cupola::image {
namespace {

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

std::vector<Entry> fatbin(std::string_view bytes) {
    const FatbinHeader header = read_header(bytes);
    Bytes(bytes).part(header.size, header.length, "the fatbin");
    const Bytes all(bytes.substr(0, header.size + header.length));
    std::vector<Entry> entries;
    for (std::uint64_t at = header.size; at < all.size();) {
        const EntryHeader found = read_entry_header(all, at);
        const std::string_view payload = all.part(at + found.size, found.payload, "an entry");
        const int sm = found.entry.architecture;
        Entry entry = found.entry;
        if (found.compressed) {
            if (found.packed > payload.size())
                throw Error("the compressed size of an entry is larger than the entry");
            entry.payload = found.packed ? payload.substr(0, found.packed) : payload;
            entry.compressed = true;
            entry.unpacked = found.unpacked;
        } else if (entry.kind == Kind::other) {
            entry.payload = payload;
        } else {
            const Entry read = entry.kind == Kind::ptx ? text(payload, sm) : cubin(payload);
            entry.payload = read.payload;
            entry.architecture = read.architecture;
        }
        entries.push_back(entry);
        at += found.size + found.payload;  // both are within the file, checked above
    }
    return entries;
}

}  // namespace

std::optional<Kind> detect_kind(const void* data, std::size_t size) {
    if (size >= 4 && starts_with_elf(data)) return Kind::cubin;
    std::uint32_t magic = 0;
    if (size >= 4) std::memcpy(&magic, data, 4);
    const std::string_view text(static_cast<const char*>(data), size);
    if (magic == fatbin_magic || is_packed(text)) return Kind::fatbin;
    const std::size_t at = skip_blank(text);
    if (at < size && text.compare(at, 8, ".version") == 0) return Kind::ptx;
    return {};
}

std::vector<Entry> read(const void* data, std::size_t size) {
    const std::optional<Kind> kind = detect_kind(data, size);
    const std::string_view bytes(static_cast<const char*>(data), size);
    if (!kind) {
        if (const std::optional<char> format = packed_format(bytes))
            throw Error(std::string("it is a packed fatbin of format ") + *format +
                        ", and this version of cupola reads format " + packed_tag.back() +
                        ": install a newer version of cupola, or build the image with this one");
        throw Error(
            "it is neither a fatbin, nor a cubin, nor PTX text (which begins with .version)");
    }
    if (*kind == Kind::fatbin) return is_packed(bytes) ? read_packed(bytes) : fatbin(bytes);
    return {*kind == Kind::cubin ? cubin(bytes) : text(bytes, 0)};
}

std::string_view assembler_options(const Entry& entry) {
    constexpr std::size_t fields = 64;  // of each header; the options are behind them
    const Bytes header(entry.header);
    if (header.size() < fields) return {};
    const auto at = header.at<std::uint32_t>(20, "the place of an entry's options");
    if (at < fields || at > header.size() - 8) return {};
    const auto start = header.at<std::uint32_t>(at, "the offset of an entry's options");
    const auto length = header.at<std::uint32_t>(at + 4, "the size of an entry's options");
    if (start > header.size() || length > header.size() - start) return {};
    return entry.header.substr(start, length);
}

std::string alone(const Entry& entry, std::string_view payload) {
    std::string header(entry.header);
    const std::uint64_t flags = Bytes(header).at<std::uint64_t>(40, "an entry's flags");
    const std::uint64_t size = (payload.size() + 8) / 8 * 8;  // with a NUL after a text
    put(header, 8, size);
    put(header, 16, std::uint32_t{0});
    std::uint64_t changed = flags & ~(lz4_flag | zstd_flag);
    if (const auto head = entry.kind == Kind::ptx ? heading(payload) : std::nullopt) {
        put(header, 24, static_cast<std::uint16_t>(head->version % 10));
        put(header, 26, static_cast<std::uint16_t>(head->version / 10));
        put(header, 28, std::uint32_t{head->target});
        changed &= ~(architecture_flag | family_flag);
        changed |= head->variant == 'a'   ? architecture_flag
                   : head->variant == 'f' ? family_flag
                                          : 0;
    }
    put(header, 40, changed);
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
