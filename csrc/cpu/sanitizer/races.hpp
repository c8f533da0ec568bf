// csrc/cpu/sanitizer/races.hpp - the last accesses to memory: a cell for each word.
//
// Words that were ever accessed in part have a cell for each byte.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "cpu/sanitizer/clock.hpp"

namespace cupola::cpu::sanitizer {

struct Access {
    std::uint32_t block = 0;
    std::uint16_t actor = 0;  // a thread, or a thread's copies: see Clocks
    bool made : 1;            // false: no access
    bool strong : 1;          // atomic, volatile or ordered: two such accesses never race
    // Such an access does not race with plain reads: compare-and-swap loops begin with a plain
    // read.
    bool atomic : 1;
    Time time = 0;
    std::uint32_t line = 0;  // in the PTX

    Access() : made(false), strong(false), atomic(false) {}
};

class Races {
  public:
    // Whether an earlier access is ordered before the current one.
    using Ordered = std::function<bool(const Access&)>;
    // Reports an earlier access that is not ordered before the current one, and whether it wrote.
    using Race = std::function<void(const Access& before, bool wrote)>;

    void read(std::uintptr_t address, std::size_t bytes, const Access& now, const Ordered& ordered,
              const Race& race);
    // `value`: the written bytes; nullptr if not known. Two writes of the same value are no race.
    void write(std::uintptr_t address, std::size_t bytes, const std::byte* value, const Access& now,
               const Ordered& ordered, const Race& race);
    // Forgets accesses to memory that is allocated again. Whole words only.
    void forget(std::uintptr_t begin, std::size_t size);

  private:
    static constexpr std::size_t word = 4, words = 1024;
    struct Cell {
        Access plain, strong;     // the last writes
        std::uint32_t value = 0;  // the value that the plain write stored, if known
        bool valued = false;
        Access read[2];  // reads by different threads since the last write
        std::unique_ptr<std::array<Cell, word>> bytes;
    };
    using Page = std::array<Cell, words>;

    Cell& cell(std::uintptr_t address);
    // f(cell, offset in the access, bytes)
    template <class F>
    void each_cell(std::uintptr_t address, std::size_t bytes, F f);

    std::map<std::uintptr_t, std::unique_ptr<Page>> pages_;
    std::uintptr_t last_at_ = 0;
    Page* last_ = nullptr;
};

}  // namespace cupola::cpu::sanitizer
