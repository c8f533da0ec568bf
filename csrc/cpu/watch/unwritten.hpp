// csrc/cpu/watch/unwritten.hpp - which bytes of memory nobody has written since it was allocated.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace cupola::cpu::watch {

// From many threads at once. What was never added counts as written.
class Unwritten {
  public:
    void add(std::uintptr_t begin, std::size_t size);
    void remove(std::uintptr_t begin);
    void wrote(std::uintptr_t address, std::size_t bytes);
    // The first of these bytes that nobody has written, 0 where there is none; and which memory
    // it is in.
    struct Place {
        std::uintptr_t address = 0, begin = 0;
        std::size_t size = 0;
    };
    Place first(std::uintptr_t address, std::size_t bytes) const;

  private:
    static constexpr std::size_t page = 4096;
    using Page = std::bitset<page>;  // 1: written
    struct Region {
        std::size_t size;
        std::vector<std::unique_ptr<Page>> pages;  // nullptr: nothing of it was written
    };
    using Regions = std::map<std::uintptr_t, Region>;

    Regions::const_iterator around(std::uintptr_t address) const;

    mutable std::mutex mutex_;
    Regions regions_;
};

}  // namespace cupola::cpu::watch
