// csrc/kernels/strided.h - the axes of a strided copy, as kernels and the runtime have them.
#pragma once

#include <cstdint>

#include "divisor.h"

namespace cupola::strided {

constexpr int most_axes = 8;
constexpr std::uint64_t most_units = 0x7fffffff;  // of a launch
constexpr unsigned pack = 16;                     // bytes that a thread stores at once

// A stride is in bytes, from one unit to the next along the axis.
struct Axis {
    std::int64_t to, from;
    Divisor length;
};

// The first axis is the innermost. The units of the first `run` axes, one or two, follow each other
// in the destination; such a run is stored in packs. Where `run` is 0, a thread copies one unit.
struct Axes {
    Axis each[most_axes];
    int count, run;
    std::uint32_t units, runs, run_units;
    Divisor packs;  // of a run
};

}  // namespace cupola::strided
