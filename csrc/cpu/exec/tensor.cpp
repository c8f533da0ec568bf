// csrc/cpu/exec/tensor.cpp - copies of a tensor's tiles: what a map describes, between global
// memory and a box in shared memory, whose places may be swizzled.
#include <algorithm>
#include <cstring>

#include "cpu/exec/async.hpp"
#include "cpu/exec/block.hpp"
#include "cpu/tensor_map.hpp"

namespace cupola::cpu::exec {
namespace {

constexpr unsigned chunk = 16;  // bytes that stay together

// A lane's copy: the map, where its box begins, and how its rows lie in memory.
class Tile {
  public:
    Tile(Warp& w, const Code* ip, unsigned lane) : w_(w), ip_(ip), lane_(lane) {}

    // False: a fault has been noted.
    bool begin(std::uint64_t map, const std::vector<std::int32_t>& coordinates, std::byte* r) {
        const std::byte* bytes = block_of(w_).reach(w_, ip_, lane_, map, sizeof map_, 16, false);
        if (!bytes) return false;
        std::memcpy(&map_, bytes, sizeof map_);
        bool sound = map_.known == TensorMap::mark && map_.rank == coordinates.size() &&
                     map_.swizzle <= 3 && map_.element != 0 && map_.element <= 8 &&
                     (map_.element & (map_.element - 1)) == 0;
        for (unsigned n = 0; sound && n < map_.rank; ++n)
            sound = map_.box[n] != 0 && map_.box[n] <= 256 && map_.step[n] != 0;
        if (!sound || map_.box[0] * map_.element % chunk != 0) {
            w_.block->fault(w_, ip_, Fault::Kind::illegal_instruction, lane_,
                            "no tensor map of as many axes", map_.rank);
            return false;
        }
        for (unsigned n = 0; n < map_.rank; ++n)
            from_[n] = at<const std::int32_t>(r, coordinates[n])[lane_];
        return true;
    }

    std::uint32_t bytes() const {
        std::uint32_t all = row_bytes();
        for (unsigned n = 1; n < map_.rank; ++n) all *= count(n);
        return all;
    }

    // Copies between the box at a shared address and the tensor.
    bool copy(std::uint64_t box, bool to_box) {
        if (!block_of(w_).reach(w_, ip_, lane_, box, bytes(), 128, to_box)) return false;
        std::uint32_t place[5] = {};
        for (std::uint64_t row = box;; row += row_bytes()) {
            if (!copy_row(row, place, to_box)) return false;
            unsigned n = 1;
            while (n < map_.rank && ++place[n] == count(n)) place[n++] = 0;
            if (n >= map_.rank) return true;
        }
    }

  private:
    std::uint32_t row_bytes() const { return map_.box[0] * map_.element; }
    std::uint32_t count(unsigned n) const {
        return (map_.box[n] + map_.step[n] - 1) / map_.step[n];
    }
    // Bits 4 and up of a shared address are changed by those from bit 7 on.
    std::byte* swizzled(std::uint64_t address) const {
        const std::uint64_t mask = (std::uint64_t{1} << map_.swizzle) - 1;
        return reinterpret_cast<std::byte*>(address ^ (address >> 7 & mask) << 4);
    }

    bool copy_row(std::uint64_t row, const std::uint32_t (&place)[5], bool to_box) {
        std::uint64_t address = map_.address;
        bool inside = true;
        for (unsigned n = 1; n < map_.rank; ++n) {
            const std::int64_t index =
                std::int64_t{from_[n]} + std::int64_t{place[n]} * map_.step[n];
            inside = inside && index >= 0 && index < std::int64_t{map_.size[n]};
            address += static_cast<std::uint64_t>(index) * map_.stride[n - 1];
        }
        // Elements of the row that the tensor has: [first, last).
        const std::int64_t first =
            inside ? std::clamp<std::int64_t>(-std::int64_t{from_[0]}, 0, map_.box[0]) : 0;
        const std::int64_t last =
            inside ? std::clamp<std::int64_t>(std::int64_t{map_.size[0]} - from_[0], first,
                                              map_.box[0])
                   : 0;
        std::byte line[256 * 8];
        const auto offset = static_cast<std::size_t>(first) * map_.element;
        const auto length = static_cast<std::size_t>(last - first) * map_.element;
        std::byte* memory = nullptr;
        if (length != 0) {
            address += static_cast<std::uint64_t>(from_[0] + first) * map_.element;
            memory = block_of(w_).reach(w_, ip_, lane_, address, length, map_.element, !to_box);
            if (!memory) return false;
        }
        if (to_box) {
            fill(line);
            if (length != 0) std::memcpy(line + offset, memory, length);
        }
        for (unsigned n = 0; n < row_bytes(); n += chunk) {
            std::byte* shared = swizzled(row + n);
            std::memcpy(to_box ? shared : line + n, to_box ? line + n : shared, chunk);
        }
        if (!to_box && length != 0) std::memcpy(memory, line + offset, length);
        return true;
    }

    void fill(std::byte* line) const {
        if (map_.fill == TensorMap::zeros) {
            std::memset(line, 0, row_bytes());
            return;
        }
        std::memset(line, 0xff, row_bytes());
        for (unsigned n = map_.element - 1u; n < row_bytes(); n += map_.element)
            line[n] = std::byte{0x7f};
    }

    Warp& w_;
    const Code* ip_;
    unsigned lane_;
    TensorMap map_;
    std::int32_t from_[5] = {};
};

// f(tile, lane) for each active lane.
template <class F>
const Code* each_tile(const Code* ip, Warp& w, std::byte* r, F f) {
    const auto& coordinates = block_of(w).kernel().tables[static_cast<std::size_t>(ip->imm)];
    const auto* map = at<const std::uint64_t>(r, ip->op[2]);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        Tile tile(w, ip, lane);
        if (!tile.begin(map[lane], coordinates, r) || !f(tile, lane)) return stop_faulted(w);
    }
    return ip + 1;
}

[[gnu::noinline]] const Code* load_tile(const Code* ip, Warp& w, std::byte* r) {
    const auto* box = at<const std::uint64_t>(r, ip->op[1]);
    auto* bytes = at<std::uint32_t>(r, ip->op[0]);
    return each_tile(ip, w, r, [&](Tile& tile, unsigned lane) {
        bytes[lane] = tile.bytes();
        return tile.copy(box[lane], true);
    });
}

[[gnu::noinline]] const Code* store_tile(const Code* ip, Warp& w, std::byte* r) {
    const auto* box = at<const std::uint64_t>(r, ip->op[1]);
    return each_tile(ip, w, r,
                     [&](Tile& tile, unsigned lane) { return tile.copy(box[lane], false); });
}

// To the same place in each of some of the cluster's blocks, which each are told.
[[gnu::noinline]] const Code* send_tile(const Code* ip, Warp& w, std::byte* r) {
    BlockState& block = block_of(w);
    const auto* box = at<const std::uint64_t>(r, ip->op[1]);
    const auto* object = at<const std::uint64_t>(r, ip->op[4]);
    const auto* blocks = at<const std::uint16_t>(r, ip->op[5]);
    return each_tile(ip, w, r, [&](Tile& tile, unsigned lane) {
        for (std::uint32_t left = blocks[lane]; left != 0; left &= left - 1) {
            const auto rank = static_cast<unsigned>(__builtin_ctz(left));
            if (!tile.copy(place_in_block(block, rank, box[lane]), true) ||
                !report_bytes(w, ip, lane, place_in_block(block, rank, object[lane]), tile.bytes()))
                return false;
        }
        return true;
    });
}

}  // namespace

const TensorControl tensor_control{
    &threaded<&load_tile>,
    &threaded<&store_tile>,
    &threaded<&send_tile>,
};

}  // namespace cupola::cpu::exec
