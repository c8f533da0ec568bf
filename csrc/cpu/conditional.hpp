// csrc/cpu/conditional.hpp - the word by which a graph's conditional node chooses what runs: the
// graph has it, device code sets it by cudaGraphSetConditional. Its handle is where it lies.
#pragma once

#include <cstdint>

namespace cupola::cpu {

struct ConditionalWord {
    static constexpr std::uint64_t mark = 0x6c616e6f69746964;

    std::uint64_t known = mark;
    std::uint32_t value = 0;
};

}  // namespace cupola::cpu
