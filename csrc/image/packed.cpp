// csrc/image/packed.cpp - reads the index and the frames of packed fatbins.
#include "image/packed.hpp"

#include <zstd.h>

#include <cstring>
#include <utility>

#include "image/bytes.hpp"
#include "image/fatbin.hpp"

namespace cupola::image {
namespace {

constexpr std::uint64_t frame_header = 8;  // of a skippable frame: magic and size

// An entry's place in the fatbin: its header, and its payload after that.
struct Place {
    std::uint64_t begin, payload, end;
};

struct Index {
    std::vector<Entry> entries;
    std::vector<Place> places;
    std::uint64_t size = 0;  // of the fatbin
};

Index read_index(std::string_view content) {
    const Bytes all(content);
    Index index;
    const FatbinHeader header =
        read_header(all.part(packed_tag.size(), fatbin_header, "the index"));
    if (header.size != fatbin_header || header.length > max_bytes)
        throw Error("its index gives an impossible size of the fatbin");
    index.size = header.size + header.length;
    std::uint64_t at = packed_tag.size() + header.size, place = header.size;
    while (at < all.size()) {
        EntryHeader found = read_entry_header(all, at);
        if (found.compressed) throw Error("an entry of its index is compressed twice");
        found.entry.compressed = true;
        found.entry.packing = Entry::Packing::frame;
        found.entry.unpacked = found.payload;
        const std::uint64_t left = index.size - place;
        if (found.payload > left || found.size > left - found.payload)
            throw Error("an entry of its index is larger than the fatbin");
        const std::uint64_t payload = place + found.size, end = payload + found.payload;
        index.places.push_back({place, payload, end});
        index.entries.push_back(found.entry);
        at += found.size;
        place = end;
    }
    if (place != index.size) throw Error("its index does not fit the size of the fatbin");
    return index;
}

struct Frame {
    std::string_view bytes;
    std::uint64_t begin, content;  // in the fatbin
};

// The frame that the bytes begin with, and the size of its content.
std::string_view next_frame(std::string_view bytes, std::uint64_t& content) {
    const std::size_t size = ZSTD_findFrameCompressedSize(bytes.data(), bytes.size());
    if (ZSTD_isError(size)) throw Error("truncated: a compressed frame is not whole");
    content = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
    if (content == 0 || content == ZSTD_CONTENTSIZE_UNKNOWN || content == ZSTD_CONTENTSIZE_ERROR)
        throw Error("a compressed frame does not say its size");
    return bytes.substr(0, size);
}

// The frames of the packed fatbin that the bytes begin with, and the index before them. `rest`: the
// bytes behind it.
std::vector<Frame> frames(std::string_view bytes, Index& index, std::string_view& rest) {
    const Bytes file(bytes);
    const auto size = file.at<std::uint32_t>(4, "the index's size");
    index = read_index(file.part(frame_header, size, "the index"));
    rest = bytes.substr(frame_header + size);
    std::vector<Frame> found;
    std::uint64_t begin = 0;
    while (begin != index.size) {
        if (rest.empty()) throw Error("truncated: its frames have fewer bytes than the fatbin");
        std::uint64_t content = 0;
        const std::string_view frame = next_frame(rest, content);
        if (content > index.size - begin)
            throw Error("its frames have more bytes than the fatbin in its index");
        found.push_back({frame, begin, content});
        begin += content;
        rest.remove_prefix(frame.size());
    }
    return found;
}

// The same for a file, which ends with the last frame.
std::vector<Frame> frames(std::string_view bytes, Index& index) {
    std::string_view rest;
    std::vector<Frame> found = frames(bytes, index, rest);
    if (!rest.empty()) throw Error("there are bytes behind its last frame");
    return found;
}

}  // namespace

std::optional<char> packed_format(std::string_view bytes) {
    std::uint32_t magic = 0;
    if (bytes.size() < before_header) return {};
    std::memcpy(&magic, bytes.data(), sizeof magic);
    const std::string_view name = packed_tag.substr(0, packed_tag.size() - 1);
    const char digit = bytes[before_header - 1];
    if (magic != skippable_magic || bytes.compare(frame_header, name.size(), name) != 0 ||
        digit < '0' || digit > '9')
        return {};
    return digit;
}

bool is_packed(std::string_view bytes) { return packed_format(bytes) == packed_tag.back(); }

std::size_t packed_size(std::string_view bytes) {
    Index index;
    std::string_view rest;
    frames(bytes, index, rest);
    return bytes.size() - rest.size();
}

std::vector<Entry> read_packed(std::string_view bytes) {
    Index index;
    std::size_t next = 0;
    for (const Frame& frame : frames(bytes, index)) {
        const std::uint64_t end = frame.begin + frame.content;
        for (; next < index.entries.size() && index.places[next].begin < end; ++next) {
            const Place& place = index.places[next];
            if (place.begin < frame.begin || place.end > end)
                throw Error("an entry of its index lies in several frames");
            index.entries[next].payload = frame.bytes;
            index.entries[next].skipped = place.payload - frame.begin;
            index.entries[next].content = frame.content;
        }
    }
    return std::move(index.entries);
}

std::string unpack_all(std::string_view bytes) {
    Index index;
    std::string all;
    for (const Frame& frame : frames(bytes, index)) all += unpack_frame(frame.bytes, frame.content);
    return all;
}

}  // namespace cupola::image
