// csrc/cpu/interpreter/tensor_tile.cpp - finds the rows of a tensor's box, and copies them.
#include "cpu/interpreter/tensor_tile.hpp"

#include <algorithm>
#include <cstring>

#include "cpu/interpreter/async.hpp"
#include "cpu/interpreter/block.hpp"
#include "cpu/isa/tensor_rounding.hpp"

namespace cupola::cpu::interpreter {
namespace {

using ptx::TensorMode;
using Access = TensorMap::Access;
using Atom = TensorMap::Atom;

constexpr unsigned chunk = 16;  // bytes that swizzling keeps together
constexpr unsigned row_count = 4;
constexpr unsigned packed = 16;          // elements that are packed together
constexpr unsigned padded_length = 128;  // elements in a row of a type with padding

constexpr observe::Touch touch_of(bool write) {
    return write ? observe::Touch::write : observe::Touch::read;
}

bool is_wide(TensorMode mode) {
    return mode == TensorMode::im2col_w || mode == TensorMode::im2col_w_128;
}

Access access_of(TensorMode mode) {
    switch (mode) {
        case TensorMode::im2col:
            return Access::columns;
        case TensorMode::im2col_w:
            return Access::wide;
        case TensorMode::im2col_w_128:
            return Access::wide_128;
        default:
            return Access::tiles;
    }
}

// Puts padding behind each group of elements.
void pad(const TensorMap& map, const std::byte* from, std::byte* to) {
    const unsigned bytes = map.bits() * packed / 8;
    std::memset(to, 0, map.row_bytes());
    for (unsigned n = 0; n < map.box[0] / packed; ++n)
        std::memcpy(to + n * packed, from + n * bytes, bytes);
}

// Joins the lower six bits of each byte.
void join_six_bits(const TensorMap& map, const std::byte* from, std::byte* to) {
    for (unsigned n = 0; n < map.box[0]; n += 4) {
        std::uint32_t four = 0;
        for (unsigned k = 0; k < 4; ++k)
            four |= (static_cast<std::uint32_t>(from[n + k]) & 63) << 6 * k;
        std::memcpy(to + n / 4 * 3, &four, 3);
    }
}

}  // namespace

Tile::Tile(Warp& w, const DecodedOp* ip, unsigned lane)
    : w_(w),
      ip_(ip),
      lane_(lane),
      mode_(static_cast<TensorMode>(ip->imm >> TensorControl::mode_bit & 7)) {}

bool Tile::fault(const char* what, std::uint64_t value) const {
    w_.block->fault(w_, ip_, Fault::Kind::illegal_instruction, lane_, what, value);
    return false;
}

bool Tile::begin(std::uint64_t map, const std::vector<std::int32_t>& coordinates, std::byte* r) {
    const std::byte* bytes =
        block_of(w_).reach(w_, ip_, lane_, map, tensor_map_bytes, 16, observe::Touch::read);
    if (!bytes) return false;
    map_ = read_tensor_map(bytes);
    if (const char* why = why_unsound(coordinates.size())) return fault(why, map_.rank);
    const auto coordinate = [&](unsigned n) {
        return at<const std::int32_t>(r, coordinates[n])[lane_];
    };
    const auto offset = [&](unsigned n) {
        return at<const std::uint16_t>(r, coordinates[map_.rank + n])[lane_];
    };
    for (unsigned n = 0; n < map_.rank; ++n) from_[n] = coordinate(n);
    if (mode_ == TensorMode::rows)
        for (unsigned n = 0; n < row_count; ++n) row_[n] = coordinate(1 + n);
    if ((ip_->imm & TensorControl::shifted) == 0) return true;
    if (!is_wide(mode_)) {
        for (unsigned n = 0; n < pixel_axes(); ++n) shift_[n] = offset(n);
        return true;
    }
    halo_ = offset(0);
    shift_[0] = offset(1);
    if (halo_ >= (mode_ == TensorMode::im2col_w ? 512 : 32))
        return fault("the number of halo pixels is too large", halo_);
    return shift_[0] < 32 || fault("the offset along W is not below 32", shift_[0]);
}

// Why the map does not suit the instruction; null if it does.
const char* Tile::why_unsound(std::size_t coordinates) const {
    const bool columns = map_.access != Access::tiles, shifts = ip_->imm & TensorControl::shifted;
    const unsigned expected = mode_ == TensorMode::rows ? 1 + row_count
                              : !shifts                 ? map_.rank
                              : is_wide(mode_)          ? map_.rank + 2u
                                                        : map_.rank + pixel_axes();
    const char* const wrong =
        mode_ == TensorMode::tile || mode_ == TensorMode::rows
            ? "the tensor map is not tiled, or has another rank"
            : "the tensor map is not of the instruction's im2col mode, or has another rank";
    if (map_.known != TensorMap::mark || map_.access != access_of(mode_) ||
        expected != coordinates || map_.rank < (columns ? 3 : 1) || map_.rank > 5 ||
        map_.swizzle > TensorMap::in_96_bytes || map_.interleave != 0 || map_.bits() == 0 ||
        static_cast<unsigned>(map_.atom) > static_cast<unsigned>(Atom::b64))
        return wrong;
    for (unsigned n = 0; n < map_.rank; ++n) {
        const bool has_box = (!columns || n < 2) && !(n == 1 && map_.access == Access::wide_128);
        if (has_box && (map_.box[n] == 0 || map_.box[n] > (columns && n == 1 ? 1024u : 256u)))
            return wrong;
        if (map_.step[n] == 0) return wrong;
    }
    if (mode_ == TensorMode::rows && (map_.rank != 2 || map_.box[1] != 1))
        return "gather4 and scatter4 need a matrix, and a box of one row";
    if (map_.box[0] * map_.shared_bits() / 8 % chunk != 0 ||
        map_.box[0] * map_.shared_bits() % 8 != 0)
        return "a row of the box has no multiple of 16 bytes";
    if (map_.is_padded() && map_.box[0] != padded_length)
        return "a row of elements with padding must have 128 elements";
    if (map_.swizzle == TensorMap::in_96_bytes &&
        (map_.row_bytes() > 96 || map_.is_padded() || mode_ == TensorMode::im2col_w_128))
        return "swizzling in 96 bytes needs a row of at most 96 bytes, elements without padding, "
               "and no mode im2col::w::128";
    if (map_.atom != Atom::b16 && map_.swizzle != 3)
        return "pieces of more than 16 bytes need swizzling in 128 bytes";
    if (is_wide(mode_) && (map_.swizzle < 2 || map_.atom > Atom::b32))
        return "wide columns must be swizzled in 64 or 128 bytes, in pieces of 16 or 32 bytes";
    return nullptr;
}

std::uint64_t Tile::rows() const {
    if (mode_ == TensorMode::rows) return row_count;
    if (mode_ == TensorMode::im2col_w) return pixels(map_) + halo_;
    if (mode_ == TensorMode::im2col_w_128)
        return pixels(map_) + std::uint64_t{wide_pixels / halo_period} * halo_;
    return box_bytes(map_) / map_.row_bytes();
}

bool Tile::copy(std::uint64_t box, bool to_box, ReduceElements reduce) {
    if (!is_valid_position(to_box) ||
        !block_of(w_).reach(w_, ip_, lane_, box, bytes(), 128, touch_of(to_box)) ||
        !reach_swizzled(box + bytes(), to_box))
        return false;
    if (is_wide(mode_)) return copy_wide(box, reduce);
    Place at;
    std::copy_n(from_, 5, at);
    const std::uint64_t end = box + bytes();
    for (std::uint64_t row = box, n = 0; row != end; row += map_.row_bytes(), ++n) {
        if (mode_ == TensorMode::rows) at[1] = row_[n];
        if (!copy_row(row, at, to_box, reduce)) return false;
        if (mode_ == TensorMode::im2col)
            next_pixel(at);
        else
            next_in_box(at);
    }
    return true;
}

// Halo pixels continue the row of pixels. In im2col::w they follow the last pixel. In
// im2col::w::128 they follow each 32 pixels, and the next pixel is then the first of them.
bool Tile::copy_wide(std::uint64_t box, ReduceElements reduce) {
    const std::uint64_t all = pixels(map_);
    const std::uint64_t period = mode_ == TensorMode::im2col_w_128 ? halo_period : all;
    Place at;
    std::copy_n(from_, 5, at);
    at[1] += shift_[0];
    for (std::uint64_t pixel = 0; pixel < all; ++pixel) {
        if (!copy_row(box, at, true, reduce)) return false;
        box += map_.row_bytes();
        next_wide_pixel(at);
        if ((pixel + 1) % period != 0) continue;
        Place halo;
        std::copy_n(at, 5, halo);
        for (unsigned n = 0; n < halo_; ++n, box += map_.row_bytes()) {
            if (!copy_row(box, halo, true, reduce)) return false;
            next_wide_pixel(halo);
        }
    }
    return true;
}

// The rules that an H200 follows. A tile begins at a multiple of 16 bytes in its rows, and a
// stored tile does not begin before the tensor. An im2col copy begins inside the bounding box; wide
// columns may begin left of it.
bool Tile::is_valid_position(bool loads) const {
    if (mode_ == TensorMode::im2col)
        for (unsigned n = 1; n <= pixel_axes(); ++n)
            if (from_[n] < begin_of_pixels(n) || from_[n] >= end_of_pixels(n))
                return fault("the im2col copy begins outside of the bounding box",
                             static_cast<std::uint32_t>(from_[n]));
    if (is_wide(mode_) && std::int64_t{from_[1]} + shift_[0] >= end_of_pixels(1))
        return fault("the im2col copy begins right of the bounding box",
                     static_cast<std::uint32_t>(from_[1]));
    const auto is_before = [](std::int32_t at) { return at < 0; };
    bool before = std::any_of(from_, from_ + map_.rank, is_before);
    if (mode_ == TensorMode::rows) before |= std::any_of(row_, row_ + row_count, is_before);
    if (!loads && map_.access == Access::tiles && before)
        return fault("the stored tile begins before the tensor",
                     static_cast<std::uint32_t>(from_[0]));
    if (map_.is_padded() && from_[0] % static_cast<std::int32_t>(padded_length) != 0)
        return fault("a tile with padding does not begin at a multiple of 128 elements",
                     static_cast<std::uint32_t>(from_[0]));
    if (!loads && map_.type == TensorMap::Element::b4x16_p64)
        return fault("a tile of 4-bit elements with padding cannot be stored", 0);
    return std::int64_t{from_[0]} * map_.bits() % (8 * chunk) == 0 ||
           fault("the tile does not begin at a multiple of 16 bytes",
                 static_cast<std::uint32_t>(from_[0]));
}

std::int64_t Tile::begin_of_pixels(unsigned axis) const {
    return map_.lower[axis - 1] + (is_wide(mode_) ? std::int64_t{shift_[0]} : 0);
}
std::int64_t Tile::end_of_pixels(unsigned axis) const {
    return std::int64_t{map_.size[axis]} + map_.upper[axis - 1] +
           (is_wide(mode_) ? std::int64_t{shift_[0]} : 0);
}

void Tile::next_in_box(Place& at) const {
    for (unsigned n = 1; n < map_.rank; ++n) {
        const std::int64_t count = (map_.box[n] + map_.step[n] - 1) / map_.step[n];
        at[n] += map_.step[n];
        if (at[n] < from_[n] + count * map_.step[n]) return;
        at[n] = from_[n];
    }
}

// Advances to the next pixel of the row, else to the next row, else to the next image.
void Tile::next_pixel(Place& at) const {
    for (unsigned n = 1; n <= pixel_axes(); ++n) {
        at[n] += map_.step[n];
        if (at[n] < end_of_pixels(n)) return;
        at[n] = begin_of_pixels(n);
    }
    at[map_.rank - 1] += map_.step[map_.rank - 1];
}

// Wide columns have one row of each image.
void Tile::next_wide_pixel(Place& at) const {
    at[1] += map_.step[1];
    if (at[1] < end_of_pixels(1)) return;
    at[1] = begin_of_pixels(1);
    at[map_.rank - 1] += map_.step[map_.rank - 1];
}

// Bits of a shared address are XORed with bits 7 and up.
std::byte* Tile::swizzled(std::uint64_t address) const {
    unsigned bit = 4;
    std::uint64_t mask = (std::uint64_t{1} << map_.swizzled_bits()) - 1;
    if (map_.atom == Atom::b32 || map_.atom == Atom::flipped) bit = 5, mask = 3;
    if (map_.atom == Atom::b64) bit = 6, mask = 1;
    return reinterpret_cast<std::byte*>(address ^ (address >> 7 & mask) << bit);
}

// Swizzling permutes chunks within up to 128 bytes, of which a box may have only the first.
bool Tile::reach_swizzled(std::uint64_t end, bool to_box) const {
    const std::uint64_t together = std::uint64_t{chunk} << map_.swizzled_bits();
    for (std::uint64_t n = end / together * together; n < end; n += chunk) {
        const auto place = reinterpret_cast<std::uintptr_t>(swizzled(n));
        if (place >= end &&
            !block_of(w_).reach(w_, ip_, lane_, place, chunk, chunk, touch_of(to_box)))
            return false;
    }
    return true;
}

void Tile::move_chunks(std::uint64_t row, std::byte* line, bool to_box) const {
    for (unsigned n = 0; n < map_.row_bytes(); n += chunk) {
        std::byte* shared = swizzled(row + n);
        std::byte* const from = to_box ? line + n : shared;
        std::byte* const to = to_box ? shared : line + n;
        const unsigned flip =
            map_.atom == Atom::flipped && ((row + n) >> 7 & 1) != 0 ? chunk / 2 : 0;
        std::memcpy(to + flip, from, chunk / 2);
        std::memcpy(to + chunk / 2 - flip, from + chunk / 2, chunk / 2);
    }
}

bool Tile::copy_row(std::uint64_t row, const Place& at, bool to_box, ReduceElements reduce) {
    std::uint64_t address = map_.address;
    bool inside = true;
    for (unsigned n = 1; n < map_.rank; ++n) {
        const bool moved = mode_ == TensorMode::im2col && n <= pixel_axes();
        const std::int64_t index = at[n] + (moved ? shift_[n - 1] : 0);
        inside = inside && index >= 0 && index < std::int64_t{map_.size[n]};
        address += static_cast<std::uint64_t>(index) * map_.stride[n - 1];
    }
    // The elements of the row that are inside the tensor: [first, last).
    const std::int64_t first =
        inside ? std::clamp<std::int64_t>(-std::int64_t{from_[0]}, 0, map_.box[0]) : 0;
    const std::int64_t last =
        inside ? std::clamp<std::int64_t>(std::int64_t{map_.size[0]} - from_[0], first, map_.box[0])
               : 0;
    std::byte line[256 * 8], shared[256 * 8];
    const auto bytes = [&](std::int64_t elements) {
        return static_cast<std::size_t>(elements) * map_.bits() / 8;
    };
    const std::size_t offset = bytes(first), length = bytes(last) - offset;
    std::byte* memory = nullptr;
    if (length != 0) {
        address += static_cast<std::uint64_t>((from_[0] + first) * map_.bits() / 8);
        memory = block_of(w_).reach(w_, ip_, lane_, address, length,
                                    map_.is_packed() ? 1 : map_.bits() / 8,
                                    reduce ? observe::Touch::atomic : touch_of(!to_box));
        if (!memory) return false;
    }
    if (to_box) {
        fill(line);
        if (length != 0) std::memcpy(line + offset, memory, length);
        round_elements(map_.type, line + offset, length);
        if (map_.is_padded()) pad(map_, line, shared);
        move_chunks(row, map_.is_padded() ? shared : line, true);
        return true;
    }
    move_chunks(row, map_.is_padded() ? shared : line, false);
    if (map_.is_padded()) join_six_bits(map_, shared, line);
    if (length == 0) return true;
    if (!reduce)
        std::memcpy(memory, line + offset, length);
    else if (!reduce(map_.type, memory, line + offset, length))
        return fault("the tensor's type does not support this reduction",
                     static_cast<std::uint64_t>(map_.type));
    return true;
}

void Tile::fill(std::byte* line) const {
    if (!map_.fill_nan || !map_.real()) {
        std::memset(line, 0, map_.row_bytes());
        return;
    }
    // The fill value has the same 16 bits in all types, as on an H200; fma.oob recognizes them.
    for (unsigned n = 0; n < map_.row_bytes(); n += 2) std::memcpy(line + n, &cpu::outside, 2);
}

}  // namespace cupola::cpu::interpreter
