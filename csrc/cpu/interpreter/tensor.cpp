// csrc/cpu/interpreter/tensor.cpp - copies of tensor tiles, and changes of tensor maps.
//
// A tensor map describes the tensor and the box in shared memory, which may be swizzled. Copies are
// tiled or im2col.
#include <algorithm>
#include <cstring>

#include "cpu/base/tensor_box.hpp"
#include "cpu/interpreter/async.hpp"
#include "cpu/interpreter/block.hpp"
#include "cpu/isa/tensor_rounding.hpp"
#include "cpu/isa/tile_reduction.hpp"

namespace cupola::cpu::interpreter {
namespace {

constexpr unsigned chunk = 16;  // bytes that swizzling keeps together

constexpr observe::Touch touch_of(bool write) {
    return write ? observe::Touch::write : observe::Touch::read;
}

// A lane's copy: the map, the origin of its box, and the rows in memory.
class Tile {
  public:
    Tile(Warp& w, const DecodedOp* ip, unsigned lane) : w_(w), ip_(ip), lane_(lane) {}

    // False: a fault has been noted.
    bool begin(std::uint64_t map, const std::vector<std::int32_t>& coordinates, std::byte* r) {
        const std::byte* bytes =
            block_of(w_).reach(w_, ip_, lane_, map, sizeof map_, 16, observe::Touch::read);
        if (!bytes) return false;
        std::memcpy(&map_, bytes, sizeof map_);
        const bool columns = (ip_->imm & TensorControl::columns) != 0;
        const unsigned shifts = (ip_->imm & TensorControl::shifted) != 0 ? pixel_axes() : 0;
        bool sound = map_.known == TensorMap::mark && (map_.columns != 0) == columns &&
                     map_.rank + shifts == coordinates.size() && map_.rank >= (columns ? 3 : 1) &&
                     map_.rank <= 5 && map_.swizzle <= 3 && map_.interleave == 0 &&
                     map_.element() != 0;
        for (unsigned n = 0; sound && n < map_.rank; ++n)
            sound = (columns && n > 1) ||
                    (map_.box[n] != 0 && map_.box[n] <= (columns && n == 1 ? 1024u : 256u));
        for (unsigned n = 0; sound && n < map_.rank; ++n) sound = map_.step[n] != 0;
        element_ = map_.element();
        if (!sound || map_.box[0] * element_ % chunk != 0) {
            w_.block->fault(w_, ip_, Fault::Kind::illegal_instruction, lane_,
                            columns ? "the tensor map is not im2col, or has another rank"
                                    : "the tensor map is not tiled, or has another rank",
                            map_.rank);
            return false;
        }
        for (unsigned n = 0; n < map_.rank; ++n)
            from_[n] = at<const std::int32_t>(r, coordinates[n])[lane_];
        for (unsigned n = 0; n < shifts; ++n)
            shift_[n] = at<const std::uint16_t>(r, coordinates[map_.rank + n])[lane_];
        return true;
    }

    std::uint64_t bytes() const { return box_bytes(map_); }

    // Copies between the box at a shared address and the tensor; stores with `reduce` if it is set.
    bool copy(std::uint64_t box, bool to_box, ReduceElements reduce = nullptr) {
        if (!is_valid_position(to_box) ||
            !block_of(w_).reach(w_, ip_, lane_, box, bytes(), 128, touch_of(to_box)) ||
            !reach_swizzled(box + bytes(), to_box))
            return false;
        std::int64_t at[5];
        std::copy_n(from_, 5, at);
        const std::uint64_t end = box + bytes();
        for (std::uint64_t row = box; row != end; row += row_bytes()) {
            if (!copy_row(row, at, to_box, reduce)) return false;
            if (map_.columns)
                next_pixel(at);
            else
                next_row(at);
        }
        return true;
    }

  private:
    // The rules that an H200 follows. A tile begins at a multiple of 16 bytes in its rows, and a
    // stored tile does not begin before the tensor. An im2col copy begins inside the bounding box.
    bool is_valid_position(bool loads) const {
        for (unsigned n = 1; map_.columns && n <= pixel_axes(); ++n) {
            if (from_[n] >= map_.lower[n - 1] && from_[n] < end(n)) continue;
            w_.block->fault(w_, ip_, Fault::Kind::illegal_instruction, lane_,
                            "the im2col copy begins outside of the bounding box",
                            static_cast<std::uint32_t>(from_[n]));
            return false;
        }
        const bool before = !loads && !map_.columns &&
                            std::any_of(from_, from_ + map_.rank, [](auto at) { return at < 0; });
        if (!before && static_cast<std::uint32_t>(from_[0]) * element_ % chunk == 0) return true;
        w_.block->fault(w_, ip_, Fault::Kind::illegal_instruction, lane_,
                        before ? "the stored tile begins before the tensor"
                               : "the tile does not begin at a multiple of 16 bytes",
                        static_cast<std::uint32_t>(from_[0]));
        return false;
    }
    std::uint32_t row_bytes() const { return map_.box[0] * element_; }
    std::uint32_t count(unsigned n) const {
        return (map_.box[n] + map_.step[n] - 1) / map_.step[n];
    }
    unsigned pixel_axes() const { return map_.rank < 2 ? 0 : map_.rank - 2u; }

    std::int64_t end(unsigned axis) const {  // of pixels
        return std::int64_t{map_.size[axis]} + map_.upper[axis - 1];
    }

    void next_row(std::int64_t (&at)[5]) const {
        for (unsigned n = 1; n < map_.rank; ++n) {
            at[n] += map_.step[n];
            if (at[n] < from_[n] + std::int64_t{count(n)} * map_.step[n]) return;
            at[n] = from_[n];
        }
    }
    // Advances to the next pixel of the row, else to the next row, else to the next image.
    void next_pixel(std::int64_t (&at)[5]) const {
        for (unsigned n = 1; n <= pixel_axes(); ++n) {
            at[n] += map_.step[n];
            if (at[n] < end(n)) return;
            at[n] = map_.lower[n - 1];
        }
        at[map_.rank - 1] += map_.step[map_.rank - 1];
    }
    // Bits 4 and up of a shared address are XORed with bits 7 and up.
    std::byte* swizzled(std::uint64_t address) const {
        const std::uint64_t mask = (std::uint64_t{1} << map_.swizzle) - 1;
        return reinterpret_cast<std::byte*>(address ^ (address >> 7 & mask) << 4);
    }

    // Swizzling permutes chunks within up to 128 bytes, of which a box may have only the first.
    bool reach_swizzled(std::uint64_t end, bool to_box) const {
        const std::uint64_t together = std::uint64_t{chunk} << map_.swizzle;
        for (std::uint64_t n = end / together * together; n < end; n += chunk) {
            const auto place = reinterpret_cast<std::uintptr_t>(swizzled(n));
            if (place >= end &&
                !block_of(w_).reach(w_, ip_, lane_, place, chunk, chunk, touch_of(to_box)))
                return false;
        }
        return true;
    }

    bool copy_row(std::uint64_t row, const std::int64_t (&at)[5], bool to_box,
                  ReduceElements reduce) {
        std::uint64_t address = map_.address;
        bool inside = true;
        for (unsigned n = 1; n < map_.rank; ++n) {
            const std::int64_t index = at[n] + (n <= pixel_axes() ? shift_[n - 1] : 0);
            inside = inside && index >= 0 && index < std::int64_t{map_.size[n]};
            address += static_cast<std::uint64_t>(index) * map_.stride[n - 1];
        }
        // The elements of the row that are inside the tensor: [first, last).
        const std::int64_t first =
            inside ? std::clamp<std::int64_t>(-std::int64_t{from_[0]}, 0, map_.box[0]) : 0;
        const std::int64_t last =
            inside ? std::clamp<std::int64_t>(std::int64_t{map_.size[0]} - from_[0], first,
                                              map_.box[0])
                   : 0;
        std::byte line[256 * 8];
        const auto offset = static_cast<std::size_t>(first) * element_;
        const auto length = static_cast<std::size_t>(last - first) * element_;
        std::byte* memory = nullptr;
        if (length != 0) {
            address += static_cast<std::uint64_t>(from_[0] + first) * element_;
            memory = block_of(w_).reach(w_, ip_, lane_, address, length, element_,
                                        reduce ? observe::Touch::atomic : touch_of(!to_box));
            if (!memory) return false;
        }
        if (to_box) {
            fill(line);
            if (length != 0) std::memcpy(line + offset, memory, length);
            round_elements(map_.type, line + offset, length);
        }
        for (unsigned n = 0; n < row_bytes(); n += chunk) {
            std::byte* shared = swizzled(row + n);
            std::memcpy(to_box ? shared : line + n, to_box ? line + n : shared, chunk);
        }
        if (to_box || length == 0) return true;
        if (!reduce) {
            std::memcpy(memory, line + offset, length);
        } else if (!reduce(map_.type, memory, line + offset, length)) {
            w_.block->fault(w_, ip_, Fault::Kind::illegal_instruction, lane_,
                            "the tensor's type does not support this reduction",
                            static_cast<std::uint64_t>(map_.type));
            return false;
        }
        return true;
    }

    void fill(std::byte* line) const {
        if (!map_.fill_nan || !map_.real()) {
            std::memset(line, 0, row_bytes());
            return;
        }
        // The fill value has the same 16 bits in all types, as on an H200; fma.oob recognizes them.
        for (unsigned n = 0; n < row_bytes(); n += 2) std::memcpy(line + n, &cpu::outside, 2);
    }

    Warp& w_;
    const DecodedOp* ip_;
    unsigned lane_;
    TensorMap map_;
    unsigned element_ = 0;  // bytes
    std::int32_t from_[5] = {};
    std::uint16_t shift_[3] = {};
};

// f(tile, lane) for each active lane.
template <class F>
const DecodedOp* each_tile(const DecodedOp* ip, Warp& w, std::byte* r, F f) {
    const auto& coordinates = block_of(w).kernel().tables[static_cast<std::uint32_t>(ip->imm)];
    const auto* map = at<const std::uint64_t>(r, ip->op[2]);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        Tile tile(w, ip, lane);
        if (!tile.begin(map[lane], coordinates, r) || !f(tile, lane)) return stop_faulted(w);
    }
    return ip + 1;
}

[[gnu::noinline]] const DecodedOp* load_tile(const DecodedOp* ip, Warp& w, std::byte* r) {
    const auto* box = at<const std::uint64_t>(r, ip->op[1]);
    auto* bytes = at<std::uint32_t>(r, ip->op[0]);
    return each_tile(ip, w, r, [&](Tile& tile, unsigned lane) {
        bytes[lane] = static_cast<std::uint32_t>(tile.bytes());
        return tile.copy(box[lane], true);
    });
}

[[gnu::noinline]] const DecodedOp* store_tile(const DecodedOp* ip, Warp& w, std::byte* r) {
    const auto* box = at<const std::uint64_t>(r, ip->op[1]);
    return each_tile(ip, w, r,
                     [&](Tile& tile, unsigned lane) { return tile.copy(box[lane], false); });
}

// Copies to the same offset in several blocks of the cluster, and reports the bytes to each.
[[gnu::noinline]] const DecodedOp* send_tile(const DecodedOp* ip, Warp& w, std::byte* r) {
    BlockState& block = block_of(w);
    const auto* box = at<const std::uint64_t>(r, ip->op[1]);
    const auto* object = at<const std::uint64_t>(r, ip->op[4]);
    const auto* blocks = at<const std::uint16_t>(r, ip->op[5]);
    return each_tile(ip, w, r, [&](Tile& tile, unsigned lane) {
        for (std::uint32_t left = blocks[lane]; left != 0; left &= left - 1) {
            const auto rank = static_cast<unsigned>(__builtin_ctz(left));
            if (!tile.copy(place_in_block(block, rank, box[lane]), true) ||
                !report_bytes(w, ip, lane, place_in_block(block, rank, object[lane]),
                              static_cast<std::uint32_t>(tile.bytes())))
                return false;
        }
        return true;
    });
}

// imm: the field and its axis, as AsyncDecoder encodes them.
[[gnu::noinline]] const DecodedOp* replace_field(const DecodedOp* ip, Warp& w, std::byte* r) {
    using Field = TensorControl::Field;
    const auto* address = at<const std::uint64_t>(r, ip->op[1]);
    const auto* wide = at<const std::uint64_t>(r, ip->op[2]);
    const auto* narrow = at<const std::uint32_t>(r, ip->op[2]);
    const auto axis = static_cast<unsigned>(ip->imm >> 8);
    const auto field = static_cast<Field>(ip->imm & 255);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        TensorMap map;
        std::byte* memory =
            block_of(w).reach(w, ip, lane, address[lane], sizeof map, 64, observe::Touch::atomic);
        if (!memory) return stop_faulted(w);
        std::memcpy(&map, memory, sizeof map);
        if (map.known != TensorMap::mark) {
            w.block->fault(w, ip, Fault::Kind::illegal_instruction, lane,
                           "the address is not a tensor map", address[lane]);
            return stop_faulted(w);
        }
        const auto byte = [&] { return static_cast<std::uint8_t>(std::min(narrow[lane], 255u)); };
        switch (field) {
            case Field::global_address:
                map.address = wide[lane];
                break;
            case Field::rank:  // is encoded as one less
                map.rank = byte() == 255 ? byte() : static_cast<std::uint8_t>(byte() + 1);
                break;
            case Field::box_dim:
                map.box[axis] = narrow[lane];
                break;
            case Field::global_dim:
                map.size[axis] = narrow[lane];
                break;
            case Field::global_stride:
                map.stride[axis] = wide[lane];
                break;
            case Field::element_stride:  // has no effect on the innermost axis
                if (axis != 0) map.step[axis] = byte();
                break;
            case Field::elemtype:
                map.type = static_cast<TensorMap::Element>(byte());
                break;
            case Field::interleave_layout:
                map.interleave = byte();
                break;
            case Field::swizzle_mode:
                map.swizzle = byte();
                break;
            case Field::fill_mode:
                map.fill_nan = byte();
                break;
        }
        std::memcpy(memory, &map, sizeof map);
    }
    return ip + 1;
}

}  // namespace

const DecodedOp* reduce_tile(const DecodedOp* ip, Warp& w, std::byte* r, ReduceElements reduce) {
    const auto* box = at<const std::uint64_t>(r, ip->op[1]);
    return each_tile(
        ip, w, r, [&](Tile& tile, unsigned lane) { return tile.copy(box[lane], false, reduce); });
}

const TensorControl tensor_control{
    &threaded<&load_tile>,
    &threaded<&store_tile>,
    &threaded<&send_tile>,
    &threaded<&replace_field>,
};

}  // namespace cupola::cpu::interpreter
