// csrc/cpu/range.hpp - a stretch of memory. Plain data, as printed code includes it.
#pragma once

#include <cstdint>

namespace cupola::cpu {

// What device code may reach: [begin, end).
struct Range {
    std::uintptr_t begin = 0, end = 0;
    bool writable = true;
};

}  // namespace cupola::cpu
