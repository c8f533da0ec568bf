// csrc/cpu/device/memory/range_table.hpp - the sorted set of mapped ranges, read without locks.
//
// Readers follow one atomic pointer to an immutable two-level table: an index of leaves with up to
// 64 ranges each. A change copies the index and one or two leaves, and then replaces the pointer.
// The old parts are passed to `retire`. The caller frees them when no grid can read them
// (MemoryMap's pins).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "cpu/interpreter/execute.hpp"

namespace cupola::cpu {

class RangeTable {
  public:
    using Retire = std::function<void(std::function<void()>)>;

    explicit RangeTable(Retire retire) : retire_(std::move(retire)) {}

    // Thread-safe. Only one thread at a time may change the table.
    Range find(std::uintptr_t address) const;
    void insert(Range range);
    void erase(std::uintptr_t begin);

  private:
    struct Leaf;
    struct Index;

    void replace(const Index* now);

    std::atomic<const Index*> index_{nullptr};
    Retire retire_;
};

}  // namespace cupola::cpu
