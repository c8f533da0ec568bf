// csrc/runtime/module/pack.cpp - leaves out equal machine code, and compresses what is left.
#include "runtime/module/pack.hpp"

#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <set>
#include <tuple>
#include <vector>

#include "image/bytes.hpp"
#include "image/choice.hpp"
#include "image/cubin.hpp"
#include "image/fatbin.hpp"
#include "image/image.hpp"
#include "image/packed.hpp"
#include "runtime/base/error.hpp"

namespace cupola {
namespace {

// A frame's content, about: similar code of several entries is compressed together, but a load
// unpacks the whole frame. This much takes 2 ms.
constexpr std::size_t frame_limit = std::size_t{4} << 20;

// An entry, with its header and the padding after it.
struct Piece {
    const image::Entry* entry;
    std::string_view bytes;
};

std::vector<Piece> pieces_of(std::string_view fatbin, const std::vector<image::Entry>& entries) {
    std::vector<Piece> pieces;
    for (const image::Entry& entry : entries) {
        if (entry.compressed)
            fail(CUPOLA_ERROR_IMAGE,
                 "the image can't be packed: an entry is compressed; make it with nvcc "
                 "-no-compress");
        pieces.push_back({&entry, {}});
    }
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const char* begin = entries[i].header.data();
        const char* end = i + 1 < pieces.size() ? entries[i + 1].header.data()
                                                : fatbin.data() + image::size_of(fatbin.data());
        pieces[i].bytes = {begin, static_cast<std::size_t>(end - begin)};
    }
    return pieces;
}

// Refuses two entries for one target: a device would take the first entry, and never the second.
void refuse_doubles(const std::vector<image::Entry>& entries) {
    std::set<std::tuple<image::Kind, int, char>> known;
    for (const image::Entry& entry : entries)
        if (entry.kind != image::Kind::other &&
            !known.emplace(entry.kind, entry.architecture, entry.variant).second)
            fail(CUPOLA_ERROR_IMAGE, "the image can't be packed: it has two entries for " +
                                         image::target_name(entry) +
                                         "; build it with one for each target");
}

bool starts_with(std::string_view text, std::string_view beginning) {
    return text.compare(0, beginning.size(), beginning) == 0;
}

// Notes and .nv.info name the architecture; the rest is what runs.
bool is_code(const image::Cubin::Section& section) {
    return !starts_with(section.name, ".note") && !starts_with(section.name, ".nv.info");
}

bool same_code(std::string_view one, std::string_view other) {
    const image::Cubin a(one), b(other);
    if (a.sections().size() != b.sections().size()) return false;
    for (std::size_t i = 0; i < a.sections().size(); ++i) {
        const auto &x = a.sections()[i], &y = b.sections()[i];
        if (x.name != y.name || x.type != y.type) return false;
        if (is_code(x) && (x.size != y.size || x.content != y.content)) return false;
    }
    const auto kernels = a.kernels(), others = b.kernels();
    const auto same = [](const auto& x, const auto& y) {
        return x.name == y.name && x.parameters == y.parameters && x.registers == y.registers &&
               x.shared == y.shared && x.local == y.local && x.constant == y.constant;
    };
    return std::equal(kernels.begin(), kernels.end(), others.begin(), others.end(), same);
}

// The machine code that devices of an architecture take, if the code for it is left out.
const image::Entry* next_older(const std::vector<Piece>& pieces, const image::Entry& entry) {
    const image::Entry* best = nullptr;
    for (const Piece& piece : pieces) {
        const image::Entry& one = *piece.entry;
        if (one.kind != image::Kind::cubin || one.variant ||
            one.architecture >= entry.architecture ||
            !image::runs_machine_code(one.architecture, entry.architecture))
            continue;
        if (!best || one.architecture > best->architecture) best = &one;
    }
    return best;
}

// Newest first, so that code which is equal for three architectures is kept for the oldest.
void leave_out_equal_code(std::vector<Piece>& pieces) {
    std::vector<const image::Entry*> order;
    for (const Piece& piece : pieces)
        if (piece.entry->kind == image::Kind::cubin && !piece.entry->variant)
            order.push_back(piece.entry);
    std::sort(order.begin(), order.end(),
              [](const auto* a, const auto* b) { return a->architecture > b->architecture; });
    for (const image::Entry* entry : order) {
        const image::Entry* older = next_older(pieces, *entry);
        if (!older || !same_code(older->payload, entry->payload)) continue;
        pieces.erase(std::find_if(pieces.begin(), pieces.end(),
                                  [&](const Piece& piece) { return piece.entry == entry; }));
    }
}

// A skippable frame with the header of the fatbin and of each entry.
std::string index_of(std::string_view header, const std::vector<Piece>& pieces) {
    std::string index(8, '\0');
    index.append(image::packed_tag).append(header);
    for (const Piece& piece : pieces) index.append(piece.entry->header);
    image::put(index, 0, image::skippable_magic);
    image::put(index, 4, static_cast<std::uint32_t>(index.size() - 8));
    return index;
}

std::string compressed(std::string_view content, int level) {
    const std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(),
                                                                          ZSTD_freeCCtx);
    if (!context) throw std::bad_alloc();
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
    std::string out(ZSTD_compressBound(content.size()), '\0');
    const std::size_t size =
        ZSTD_compress2(context.get(), out.data(), out.size(), content.data(), content.size());
    if (ZSTD_isError(size))
        fail(CUPOLA_ERROR_IMAGE,
             std::string("the image can't be packed: ") + ZSTD_getErrorName(size));
    out.resize(size);
    return out;
}

}  // namespace

std::string pack(std::string_view fatbin, int level) {
    if (level < 1 || level > 19)
        fail(CUPOLA_ERROR_VALUE, "level " + std::to_string(level) + ": expected 1 to 19");
    std::vector<image::Entry> entries;
    try {
        if (image::detect_kind(fatbin.data(), fatbin.size()) != image::Kind::fatbin ||
            image::is_packed(fatbin))
            throw image::Error("expected a fatbin that is not packed");
        entries = image::read(fatbin.data(), fatbin.size());
    } catch (const image::Error& error) {
        fail(CUPOLA_ERROR_IMAGE, std::string("the image can't be packed: ") + error.what());
    }
    refuse_doubles(entries);
    std::vector<Piece> pieces = pieces_of(fatbin, entries);
    leave_out_equal_code(pieces);
    std::string header(fatbin.substr(0, image::fatbin_header));
    std::uint64_t length = 0;
    for (const Piece& piece : pieces) length += piece.bytes.size();
    image::put(header, 6, static_cast<std::uint16_t>(image::fatbin_header));
    image::put(header, 8, length);
    std::string packed = index_of(header, pieces), content = std::move(header);
    for (const Piece& piece : pieces) {
        if (content.size() > image::fatbin_header &&
            content.size() + piece.bytes.size() > frame_limit) {
            packed += compressed(content, level);
            content.clear();
        }
        content.append(piece.bytes);
    }
    return packed + compressed(content, level);
}

}  // namespace cupola
