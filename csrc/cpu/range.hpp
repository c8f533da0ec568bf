// csrc/cpu/range.hpp - a range of memory. Plain data, because generated code includes it.
#pragma once

#include <cstdint>

namespace cupola::cpu {

// Memory that device code may access: [begin, end).
struct Range {
    std::uintptr_t begin = 0, end = 0;
    bool writable = true;
};

}  // namespace cupola::cpu
