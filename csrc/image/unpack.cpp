// csrc/image/unpack.cpp - decompresses entries of fatbins: LZ4 blocks, and zstd.
#include <zstd.h>

#include <algorithm>
#include <memory>

#include "image/image.hpp"
#include "image/packed.hpp"

namespace cupola::image {
namespace {

// Limits of the size in an entry's header, against forged headers: the ratios to the compressed
// size (LZ4's format allows 255; zstd's ratio for real code is far below 1024).
constexpr std::uint64_t max_lz4 = 255, max_zstd = 1024;

[[noreturn]] void damaged() { throw Error("its compressed bytes are damaged"); }

void require_possible(std::uint64_t size, std::size_t payload, std::uint64_t ratio) {
    if (size > max_bytes || size > std::max<std::uint64_t>(payload, 64) * ratio)
        throw Error("its header gives an impossible unpacked size of " + std::to_string(size) +
                    " bytes");
}

// A block of LZ4: literals and matches alternate; bytes of 255 extend a length.
class Block {
  public:
    Block(std::string_view bytes, std::string& out) : bytes_(bytes), out_(out) {}

    void run(std::size_t size) {
        for (;;) {
            const unsigned token = next();
            const std::size_t literals = length(token >> 4);
            if (literals > bytes_.size() - at_ || literals > size - out_.size()) damaged();
            out_.append(bytes_, at_, literals);
            at_ += literals;
            if (at_ == bytes_.size()) return;
            const std::size_t low = next(), back = low | std::size_t{next()} << 8;
            const std::size_t match = length(token & 15) + 4;
            if (back == 0 || back > out_.size() || match > size - out_.size()) damaged();
            // A match may overlap its own output, so it is copied byte by byte.
            for (std::size_t i = 0; i < match; ++i) out_.push_back(out_[out_.size() - back]);
        }
    }

  private:
    unsigned next() {
        if (at_ == bytes_.size()) damaged();
        return static_cast<unsigned char>(bytes_[at_++]);
    }
    std::size_t length(std::size_t first) {
        if (first < 15) return first;
        for (unsigned more = 255; more == 255; first += more) more = next();
        return first;
    }

    const std::string_view bytes_;
    std::string& out_;
    std::size_t at_ = 0;
};

// The content of a frame. A std::string would touch all of its memory, so a forged size would cost
// memory.
std::unique_ptr<char[]> content_of(std::string_view frame, std::uint64_t content) {
    require_possible(content, frame.size(), max_zstd);
    const auto bytes = static_cast<std::size_t>(content);
    std::unique_ptr<char[]> room(new char[bytes + 1]);
    // One extra byte of room detects a frame that is longer than its header says.
    const std::size_t made = ZSTD_decompress(room.get(), bytes + 1, frame.data(), frame.size());
    if (ZSTD_isError(made) || made != bytes) damaged();
    return room;
}

// An entry of a packed fatbin. Its header in the frame must be that in the index, by which the
// entry was chosen.
std::string unpack_of_frame(const Entry& entry) {
    const std::unique_ptr<char[]> room = content_of(entry.payload, entry.content);
    const std::string_view all(room.get(), static_cast<std::size_t>(entry.content));
    const auto skipped = static_cast<std::size_t>(entry.skipped);
    const std::string_view header = entry.header;
    if (header.size() > skipped || all.compare(skipped - header.size(), header.size(), header) != 0)
        throw Error("its index does not fit its compressed bytes");
    return std::string(all.substr(skipped, static_cast<std::size_t>(entry.unpacked)));
}

}  // namespace

std::string unpack_frame(std::string_view frame, std::uint64_t content) {
    return {content_of(frame, content).get(), static_cast<std::size_t>(content)};
}

std::string unpack(const Entry& entry) {
    if (entry.packing == Entry::Packing::frame) return unpack_of_frame(entry);
    if (entry.packing == Entry::Packing::zstd) return unpack_frame(entry.payload, entry.unpacked);
    require_possible(entry.unpacked, entry.payload.size(), max_lz4);
    const auto size = static_cast<std::size_t>(entry.unpacked);
    std::string out;
    out.reserve(size);
    Block(entry.payload, out).run(size);
    if (out.size() != size) damaged();
    return out;
}

}  // namespace cupola::image
