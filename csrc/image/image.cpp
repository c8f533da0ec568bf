// csrc/image/image.cpp - reads the headers of device images, each within the given bytes.
#include "image/image.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <type_traits>

namespace cupola::image {
namespace {

constexpr std::uint32_t fatbin_magic = 0xba55ed50;
constexpr std::uint64_t fatbin_header = 16;
constexpr std::uint64_t elf_header = 64;
constexpr std::uint16_t machine_cuda = 190;

class Bytes {
  public:
    Bytes(const void* data, std::size_t size)
        : data_(static_cast<const char*>(data)), size_(size) {}
    std::size_t size() const { return size_; }

    template <class T>
    T at(std::uint64_t offset, const char* what) const {
        static_assert(std::is_trivially_copyable_v<T>);
        need(offset, sizeof(T), what);
        T value;
        std::memcpy(&value, data_ + offset, sizeof value);
        return value;
    }
    std::string_view part(std::uint64_t offset, std::uint64_t length, const char* what) const {
        need(offset, length, what);
        return {data_ + offset, static_cast<std::size_t>(length)};
    }

  private:
    void need(std::uint64_t offset, std::uint64_t length, const char* what) const {
        if (offset <= size_ && length <= size_ - offset) return;
        throw Error(std::string("truncated: ") + what + " at offset " + std::to_string(offset) +
                    " needs " + std::to_string(length) + " bytes, but the image has " +
                    std::to_string(size_) + " in all");
    }

    const char* data_;
    std::size_t size_;
};

bool is_elf(const void* data) {
    return std::memcmp(data,
                       "\x7f"
                       "ELF",
                       4) == 0;
}

// Offset of the first character of PTX text that is neither white space nor comment.
std::size_t skip_blank(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
        if (std::isspace(static_cast<unsigned char>(text[at]))) {
            ++at;
        } else if (text.compare(at, 2, "//") == 0) {
            at = text.find('\n', at);
        } else if (text.compare(at, 2, "/*") == 0) {
            at = text.find("*/", at + 2);
            if (at != std::string_view::npos) at += 2;
        } else {
            return at;
        }
    }
    return text.size();
}

// The number in `.target sm_90a, ...`: 90; 0 if there is none.
int target_of(std::string_view ptx) {
    std::size_t at = ptx.find(".target");
    if (at == std::string_view::npos) return 0;
    std::string_view line = ptx.substr(at, ptx.find('\n', at) - at);
    at = line.find("sm_");
    int value = 0;
    for (std::size_t i = at == std::string_view::npos ? line.size() : at + 3;
         i < line.size() && line[i] >= '0' && line[i] <= '9' && value < 1000; ++i)
        value = value * 10 + (line[i] - '0');
    return value;
}

Entry text(std::string_view bytes, int architecture) {
    bytes = bytes.substr(0, bytes.find('\0'));
    return {Kind::ptx, architecture ? architecture : target_of(bytes), false, bytes};
}

// Checks that the tables of an ELF file are within it, and that its machine is a CUDA device.
Entry cubin(std::string_view bytes) {
    const Bytes elf(bytes.data(), bytes.size());
    elf.part(0, elf_header, "the ELF header");
    if (elf.at<std::uint8_t>(4, "the class") != 2 || elf.at<std::uint8_t>(5, "the order") != 1)
        throw Error("it is not a 64-bit little-endian ELF file");
    if (elf.at<std::uint16_t>(18, "the machine") != machine_cuda)
        throw Error("it is an ELF file, but not code for a CUDA device (machine " +
                    std::to_string(elf.at<std::uint16_t>(18, "the machine")) + ")");
    const auto table = [&](int offset, int entry, int count, const char* what) {
        const auto start = elf.at<std::uint64_t>(offset, what);
        const auto size =
            std::uint64_t{elf.at<std::uint16_t>(entry, what)} * elf.at<std::uint16_t>(count, what);
        if (size) elf.part(start, size, what);
        return start;
    };
    table(32, 54, 56, "the table of segments");
    const std::uint64_t sections = table(40, 58, 60, "the table of sections");
    const unsigned entry = elf.at<std::uint16_t>(58, "the size of a section's header");
    const unsigned count = elf.at<std::uint16_t>(60, "the number of sections");
    if (count && entry < 64) throw Error("the size of a section's header is below 64");
    if (elf.at<std::uint16_t>(62, "the section of names") >= std::max(count, 1u))
        throw Error("the section of names does not exist");
    constexpr std::uint32_t no_bits = 8;
    for (unsigned i = 0; i < count; ++i) {
        const std::uint64_t header = sections + std::uint64_t{i} * entry;
        if (elf.at<std::uint32_t>(header + 4, "a section's type") == no_bits) continue;
        elf.part(elf.at<std::uint64_t>(header + 24, "a section's offset"),
                 elf.at<std::uint64_t>(header + 32, "a section's size"), "a section");
    }
    // Since toolkit 13 (ABI version 8) the architecture is one byte higher in the flags.
    const auto flags = elf.at<std::uint32_t>(48, "the flags");
    const bool shifted = elf.at<std::uint8_t>(8, "the ABI version") >= 8;
    return {Kind::cubin, static_cast<int>(flags >> (shifted ? 8 : 0) & 0xff), false, bytes};
}

constexpr std::uint64_t lz4_flag = 0x2000, zstd_flag = 0x8000;

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

std::vector<Entry> fatbin(const void* data, std::size_t size) {
    const Bytes file(data, size);
    if (auto version = file.at<std::uint16_t>(4, "the version"); version != 1)
        throw Error("fatbin version " + std::to_string(version) + " is not supported; expected 1");
    const auto header = file.at<std::uint16_t>(6, "the header's size");
    if (header < fatbin_header) throw Error("the fatbin's header is smaller than 16 bytes");
    const auto length = file.at<std::uint64_t>(8, "the fatbin's size");
    file.part(header, length, "the fatbin");
    const Bytes all(data, header + length);
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
        if (kind == 1 || kind == 2) {
            const Kind what = kind == 1 ? Kind::ptx : Kind::cubin;
            const int sm = architecture < 1000 ? static_cast<int>(architecture) : 0;
            if (packed || flags & (lz4_flag | zstd_flag))
                entries.push_back(compressed_entry(all, at, what, sm, payload));
            else
                entries.push_back(kind == 1 ? text(payload, sm) : cubin(payload));
        }
        at += entry + padded;  // both are within the file, checked above
    }
    return entries;
}

}  // namespace

std::optional<Kind> detect_kind(const void* data, std::size_t size) {
    if (size >= 4 && is_elf(data)) return Kind::cubin;
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
    if (*kind == Kind::fatbin) return fatbin(data, size);
    return {*kind == Kind::cubin ? cubin(bytes) : text(bytes, 0)};
}

std::vector<std::string> variables(std::string_view bytes) {
    const Bytes elf(bytes.data(), bytes.size());
    const auto sections = elf.at<std::uint64_t>(40, "the table of sections");
    const unsigned entry = elf.at<std::uint16_t>(58, "the size of a section's header");
    const unsigned count = elf.at<std::uint16_t>(60, "the number of sections");
    constexpr std::uint32_t symbol_table = 2;
    constexpr std::uint64_t symbol_size = 24;
    struct Section {
        std::uint32_t name, type, link;
        std::string_view content;
    };
    const auto section = [&](unsigned index) {
        if (index >= count || entry < 64) throw Error("a section does not exist");
        const std::uint64_t at = sections + std::uint64_t{index} * entry;
        Section s{elf.at<std::uint32_t>(at, "a section's name"),
                  elf.at<std::uint32_t>(at + 4, "a section's type"),
                  elf.at<std::uint32_t>(at + 40, "a section's link"),
                  {}};
        constexpr std::uint32_t no_bits = 8;
        if (s.type != no_bits)
            s.content = elf.part(elf.at<std::uint64_t>(at + 24, "a section's offset"),
                                 elf.at<std::uint64_t>(at + 32, "a section's size"), "a section");
        return s;
    };
    const auto text_at = [](std::string_view table, std::uint32_t at) {
        table = at < table.size() ? table.substr(at) : std::string_view{};
        return std::string(table.substr(0, table.find('\0')));
    };
    std::vector<std::string> names;
    if (count == 0) return names;
    const Section titles = section(elf.at<std::uint16_t>(62, "the section of names"));
    for (unsigned i = 0; i < count; ++i) {
        const Section table = section(i);
        if (table.type != symbol_table) continue;
        const Section texts = section(table.link);
        const Bytes symbols(table.content.data(), table.content.size());
        for (std::uint64_t at = 0; at + symbol_size <= symbols.size(); at += symbol_size) {
            constexpr unsigned object = 1;
            const unsigned where = symbols.at<std::uint16_t>(at + 6, "a symbol's section");
            if ((symbols.at<std::uint8_t>(at + 4, "a symbol's type") & 15) != object ||
                where >= count)
                continue;
            const std::string home = text_at(titles.content, section(where).name);
            if (home.compare(0, 10, ".nv.global") == 0 || home == ".nv.constant3")
                names.push_back(
                    text_at(texts.content, symbols.at<std::uint32_t>(at, "a symbol's name")));
        }
    }
    return names;
}

bool runs_on(const Entry& entry, int capability) {
    return entry.architecture <= capability &&
           (entry.kind == Kind::ptx || entry.architecture / 10 == capability / 10);
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
        const Bytes header(data, fatbin_header);
        return static_cast<std::size_t>(header.at<std::uint16_t>(6, "the header's size") +
                                        header.at<std::uint64_t>(8, "the fatbin's size"));
    }
    if (!is_elf(data)) return std::strlen(static_cast<const char*>(data));
    const Bytes header(data, elf_header);
    const auto sections = header.at<std::uint64_t>(40, "the table of sections");
    const auto segments = header.at<std::uint64_t>(32, "the table of segments");
    const std::uint64_t end = sections + std::uint64_t{header.at<std::uint16_t>(58, "")} *
                                             header.at<std::uint16_t>(60, "");
    const std::uint64_t other = segments + std::uint64_t{header.at<std::uint16_t>(54, "")} *
                                               header.at<std::uint16_t>(56, "");
    return static_cast<std::size_t>(end > other ? end : other);
}

}  // namespace cupola::image
