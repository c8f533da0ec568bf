// csrc/cpu/interpreter/tensor.cpp - copies of tensor tiles, and changes of tensor maps.
//
// A tensor map describes the tensor and the box in shared memory, which may be swizzled.
#include <algorithm>
#include <cstring>

#include "cpu/interpreter/async.hpp"
#include "cpu/interpreter/block.hpp"
#include "cpu/interpreter/tensor_tile.hpp"

namespace cupola::cpu::interpreter {
namespace {

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
        bytes[lane] = static_cast<std::uint32_t>(tile.counted_bytes());
        return tile.copy(box[lane], true);
    });
}

[[gnu::noinline]] const DecodedOp* store_tile(const DecodedOp* ip, Warp& w, std::byte* r) {
    const auto* box = at<const std::uint64_t>(r, ip->op[1]);
    return each_tile(ip, w, r,
                     [&](Tile& tile, unsigned lane) { return tile.copy(box[lane], false); });
}

// The block whose mbarrier counts the bytes that block `rank` receives.
unsigned signalled(const DecodedOp* ip, const BlockState& block, unsigned rank,
                   std::uint64_t object) {
    if ((ip->imm & TensorControl::pair) == 0) return rank;
    const auto of_object =
        static_cast<unsigned>((object - block.Block::cluster) / block.cluster_stride);
    return (rank & ~1u) | (of_object & 1);
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
                !report_bytes(
                    w, ip, lane,
                    place_in_block(block, signalled(ip, block, rank, object[lane]), object[lane]),
                    static_cast<std::uint32_t>(tile.counted_bytes())))
                return false;
        }
        return true;
    });
}

// Kernels of Triton make a map of zero bytes, and then set its fields.
bool is_blank(const std::byte* map) {
    constexpr std::byte zeros[sizeof(TensorMap)] = {};
    return std::memcmp(map, zeros, sizeof zeros) == 0;
}
// Its tensor has one axis, and its steps are 1. The box has no elements until its sizes are set.
TensorMap blank_map() {
    TensorMap map;
    map.known = TensorMap::mark;
    map.rank = 1;
    std::fill(std::begin(map.step), std::end(map.step), std::uint8_t{1});
    return map;
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
        std::byte* memory = block_of(w).reach(w, ip, lane, address[lane], tensor_map_bytes, 64,
                                              observe::Touch::atomic);
        if (!memory) return stop_faulted(w);
        TensorMap map = is_blank(memory) ? blank_map() : read_tensor_map(memory);
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
            case Field::swizzle_atomicity:
                map.atom = static_cast<TensorMap::Atom>(byte());
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
