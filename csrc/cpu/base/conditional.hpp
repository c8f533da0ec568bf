// csrc/cpu/base/conditional.hpp - the word that controls a conditional node. The graph owns it, and
// device code sets it by cudaGraphSetConditional. Its handle is its address.
#pragma once

#include <cstdint>

namespace cupola::cpu {

struct ConditionalWord {
    static constexpr std::uint64_t mark = 0x6c616e6f69746964;

    std::uint64_t known = mark;
    std::uint32_t value = 0;
};

}  // namespace cupola::cpu
