// csrc/cpu/emitter/tier.hpp - how much a compiler has to do for a kernel.
#pragma once

namespace cupola::cpu::compiler {

enum class Tier {
    // Few versions of a block, and a cheaper optimisation level. Blocks whose checks fail run by
    // the interpreter's handlers.
    quick,
    full,
};

}  // namespace cupola::cpu::compiler
