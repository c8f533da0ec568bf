// csrc/cpu/interpreter/tensor_memory.hpp - the tensor memory of a block: columns, and who owns
// them.
//
// Each block has the tensor memory of a multiprocessor of its own, so a block never waits for
// columns of another block.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace cupola::cpu::interpreter {

struct DecodedOp;

class TensorMemory {
  public:
    static constexpr unsigned lane_count = 128, column_count = 512, granule = 32;

    // The columns that a tcgen05.alloc wants. While an exclusive allocation is live, the tensor
    // memory has no other one.
    struct Wanted {
        unsigned count;
        bool exclusive;
    };
    struct Allocation {
        unsigned first, count, warp;
        bool exclusive;
        const DecodedOp* by;  // the instruction that allocated the columns
    };

    // The block begins: no column is allocated.
    void begin();
    // Allocates columns side by side, and returns the first of them. Nothing: the warp has to wait.
    std::optional<unsigned> allocate(const Wanted& wanted, unsigned warp, const DecodedOp* by);
    // As allocate(), for the same columns of a pair of blocks.
    static std::optional<unsigned> allocate_both(TensorMemory& a, unsigned warp_a, TensorMemory& b,
                                                 unsigned warp_b, const Wanted& wanted,
                                                 const DecodedOp* by);
    // A warp that waits for a warp of the peer, with the columns that it wants, or with the first
    // of those that the peer has allocated for both.
    struct Request {
        unsigned warp;
        Wanted wanted;
        std::optional<unsigned> first;
    };
    std::optional<Request> request;

    // False: that is not an allocation.
    bool release(unsigned first, const Wanted& given);
    // After this call the block must not allocate.
    void relinquish() { relinquished_ = true; }
    bool relinquished() const { return relinquished_; }
    bool owns(unsigned first, unsigned count) const;
    const Allocation* any() const { return allocations_.empty() ? nullptr : &allocations_[0]; }

    // The place must be in columns that the block owns.
    std::uint32_t read(unsigned lane, unsigned column) const {
        return cells_[lane * column_count + column];
    }
    void write(unsigned lane, unsigned column, std::uint32_t value) {
        cells_[lane * column_count + column] = value;
        written_.set(lane * column_count + column);
    }
    // An unwritten place stays unwritten.
    void move(unsigned from_lane, unsigned to_lane, unsigned column) {
        const unsigned from = from_lane * column_count + column;
        const unsigned to = to_lane * column_count + column;
        cells_[to] = cells_[from];
        written_[to] = written_[from];
    }
    // The address of a cell, for observers; 0 where the block has not allocated columns.
    std::uint64_t address_of(unsigned lane, unsigned column) const {
        return cells_ ? reinterpret_cast<std::uintptr_t>(&cells_[lane * column_count + column]) : 0;
    }
    bool is_written(unsigned lane, unsigned column) const {
        return written_[lane * column_count + column];
    }

  private:
    using Columns = std::bitset<column_count / granule>;

    static std::optional<unsigned> find_free(const Columns& owned, unsigned count);
    bool permits(const Wanted& wanted) const;
    void take(unsigned first, const Wanted& wanted, unsigned warp, const DecodedOp* by);

    Columns owned_;
    std::vector<Allocation> allocations_;
    std::unique_ptr<std::uint32_t[]> cells_;
    std::bitset<std::size_t{lane_count} * column_count> written_;  // since the allocation
    bool relinquished_ = false;
};

// An address: the lane in the upper half, the column in the lower half.
struct TensorPlace {
    unsigned lane, column;
    explicit TensorPlace(std::uint32_t address) : lane(address >> 16), column(address & 0xffff) {}
};

}  // namespace cupola::cpu::interpreter
