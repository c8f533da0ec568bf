// csrc/cpu/isa/shuffle.hpp - shfl.sync: the lane that each lane reads.
#pragma once

#include <cstdint>

#include "cpu/isa/types.hpp"

namespace cupola::cpu::CUPOLA_ISA {

struct ShuffleSource {
    std::uint32_t lane;
    bool valid;  // false: the lane reads its own value
};

// `b` is the distance, the mask or the lane, and `c` has the bounds of the segment.
template <ptx::Mode M>
inline ShuffleSource shuffle_source(std::uint32_t lane, std::uint32_t b, std::uint32_t c) {
    const std::uint32_t shift = b & 31, clamp = c & 31, segment = c >> 8 & 31;
    const std::uint32_t bottom = lane & segment, top = bottom | (clamp & ~segment);
    const auto own = static_cast<std::int32_t>(lane), bound = static_cast<std::int32_t>(top);
    std::int32_t from = 0;
    bool valid = false;
    switch (M) {
        case ptx::Mode::up:
            from = own - static_cast<std::int32_t>(shift);
            valid = from >= bound;
            break;
        case ptx::Mode::down:
            from = own + static_cast<std::int32_t>(shift);
            valid = from <= bound;
            break;
        case ptx::Mode::bfly:
            from = static_cast<std::int32_t>(lane ^ shift);
            valid = from <= bound;
            break;
        default:
            from = static_cast<std::int32_t>(bottom | (shift & ~segment));
            valid = from <= bound;
            break;
    }
    return {valid ? static_cast<std::uint32_t>(from) & 31 : lane, valid};
}

}  // namespace cupola::cpu::CUPOLA_ISA
