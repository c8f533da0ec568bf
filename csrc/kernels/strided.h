// csrc/kernels/strided.h - the axes of a strided copy, as kernels and the runtime have them.
#pragma once

#include <cstdint>

namespace cupola::strided {

constexpr int most_axes = 8;

// The first axis is the outermost. A stride is in bytes, from one unit to the next along the axis.
struct Axes {
    std::uint64_t length[most_axes];
    std::int64_t to[most_axes], from[most_axes];
    int count;
};

}  // namespace cupola::strided
