// csrc/cpu/interpreter/tensor_tile.hpp - one lane's copy between a tensor and shared memory.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/base/tensor_box.hpp"
#include "cpu/isa/tile_reduction.hpp"
#include "ptx/modifiers.hpp"

namespace cupola::cpu::interpreter {

// The map, the place of the first element, and the rows in memory. A row lies along the first axis.
class Tile {
  public:
    Tile(Warp& w, const DecodedOp* ip, unsigned lane);

    // False: a fault has been noted.
    bool begin(std::uint64_t map, const std::vector<std::int32_t>& coordinates, std::byte* r);
    std::uint64_t bytes() const { return rows() * map_.row_bytes(); }
    // Bytes that an mbarrier counts: those of the elements, without their padding.
    std::uint64_t counted_bytes() const { return rows() * map_.box[0] * map_.bits() / 8; }
    // Copies between the box at a shared address and the tensor; stores with `reduce` if it is set.
    bool copy(std::uint64_t box, bool to_box, ReduceElements reduce = nullptr);

  private:
    using Place = std::int64_t[5];

    const char* why_unsound(std::size_t coordinates) const;
    bool is_valid_position(bool loads) const;
    bool fault(const char* what, std::uint64_t value) const;
    std::uint64_t rows() const;
    unsigned pixel_axes() const { return map_.rank < 2 ? 0 : map_.rank - 2u; }
    std::int64_t begin_of_pixels(unsigned axis) const;
    std::int64_t end_of_pixels(unsigned axis) const;
    void next_in_box(Place& at) const;
    void next_pixel(Place& at) const;
    void next_wide_pixel(Place& at) const;
    std::byte* swizzled(std::uint64_t address) const;
    bool reach_swizzled(std::uint64_t end, bool to_box) const;
    bool copy_wide(std::uint64_t box, ReduceElements reduce);
    bool copy_row(std::uint64_t row, const Place& at, bool to_box, ReduceElements reduce);
    void move_chunks(std::uint64_t row, std::byte* line, bool to_box) const;
    void fill(std::byte* line) const;

    Warp& w_;
    const DecodedOp* ip_;
    const unsigned lane_;
    const ptx::TensorMode mode_;
    TensorMap map_;
    std::int32_t from_[5] = {};
    std::int32_t row_[4] = {};     // the rows of gather4 and scatter4
    std::uint16_t shift_[3] = {};  // im2col
    std::uint16_t halo_ = 0;       // im2col::w
};

}  // namespace cupola::cpu::interpreter
