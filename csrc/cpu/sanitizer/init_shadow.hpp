// csrc/cpu/sanitizer/init_shadow.hpp - records which bytes were written since their allocation.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace cupola::cpu::sanitizer {

// Thread-safe. Memory that was not added counts as written.
class Unwritten {
  public:
    void add(std::uintptr_t begin, std::size_t size);
    void remove(std::uintptr_t begin);
    void wrote(std::uintptr_t address, std::size_t bytes);
    // The first unwritten byte of a range, and the allocation that contains this byte; address 0 if
    // all bytes are written.
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
        std::vector<std::unique_ptr<Page>> pages;  // nullptr: no byte of the page was written
    };
    using Regions = std::map<std::uintptr_t, Region>;

    Regions::const_iterator around(std::uintptr_t address) const;

    mutable std::mutex mutex_;
    Regions regions_;
};

}  // namespace cupola::cpu::sanitizer
