// csrc/cpu/base/range.hpp - a range of memory. Plain data, because generated code includes it.
#pragma once

#include <cstdint>

namespace cupola::cpu {

// Whether `bytes` at an offset lie in a piece of memory of `size` bytes. Always inline: the linker
// must not share a copy that was compiled for another instruction set.
[[gnu::always_inline]] constexpr bool fits(std::uint64_t offset, std::uint64_t bytes,
                                           std::uint64_t size) {
    return offset <= size && size - offset >= bytes;
}

// Memory that device code may access: [begin, end).
struct Range {
    std::uintptr_t begin = 0, end = 0;
    bool writable = true;

    [[gnu::always_inline]] constexpr bool allows(std::uint64_t address, std::uint64_t bytes,
                                                 bool write) const {
        return address >= begin && fits(address - begin, bytes, end - begin) &&
               (writable || !write);
    }
};

}  // namespace cupola::cpu
