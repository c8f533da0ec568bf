// csrc/cpu/watch/races.hpp - who accessed which memory last: a cell for each word, for each byte of
// words that were ever accessed in part.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "cpu/watch/clock.hpp"

namespace cupola::cpu::watch {

struct Access {
    std::uint32_t block = 0;
    std::uint16_t thread = 0;
    bool made : 1;    // there is one
    bool strong : 1;  // atomic, volatile, or with an order: never in a race with such
    bool atomic : 1;  // nor with plain reads, by which loops of compare-and-swap begin
    Time time = 0;
    std::uint32_t line = 0;  // of the PTX

    Access() : made(false), strong(false), atomic(false) {}
};

class Races {
  public:
    // Whether the access that is being made comes after that one.
    using Ordered = std::function<bool(const Access&)>;
    // An access without an order to the one that is being made, and whether that one wrote.
    using Race = std::function<void(const Access& before, bool wrote)>;

    void read(std::uintptr_t address, std::size_t bytes, const Access& now, const Ordered& ordered,
              const Race& race);
    // `value`: what is written, nullptr where that is not known. Two threads that write the same
    // do no harm to each other.
    void write(std::uintptr_t address, std::size_t bytes, const std::byte* value, const Access& now,
               const Ordered& ordered, const Race& race);
    // Whatever was there is other memory now. Of whole words.
    void forget(std::uintptr_t begin, std::size_t size);

  private:
    static constexpr std::size_t word = 4, words = 1024;
    struct Cell {
        Access plain, strong;     // the last writes
        std::uint32_t value = 0;  // of the plain one, where it is known
        bool valued = false;
        Access read[2];  // of different threads, since it was written
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

}  // namespace cupola::cpu::watch
