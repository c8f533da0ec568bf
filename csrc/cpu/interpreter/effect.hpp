// csrc/cpu/interpreter/effect.hpp - how an operation acts on memory and on other lanes.
#pragma once

#include <cstdint>

#include "cpu/interpreter/kernel.hpp"

namespace cupola::cpu::interpreter {

struct Effect {
    enum class Kind : std::uint8_t {
        none,
        load,
        store,
        atomic,
        fence,
        warp_barrier,
        warp_operation,  // shfl, vote, match, redux, elect
        cluster_arrive,
        cluster_wait,
        bulk_atomic,  // a reduction of an array
    };
    Kind kind = Kind::none;
    std::uint8_t bytes = 0;    // of one element
    std::uint8_t members = 0;  // index in DecodedOp::op of the member mask
};

Effect effect_of(const KernelCode& kernel, const DecodedOp& code);

}  // namespace cupola::cpu::interpreter
