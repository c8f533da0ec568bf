// csrc/cpu/sanitizer/use.hpp - properties of an instruction that the checks need.
#pragma once

#include <cstdint>

#include "cpu/interpreter/kernel.hpp"

namespace cupola::cpu::sanitizer {

struct Use {
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

Use use_of(const interpreter::KernelCode& kernel, const interpreter::DecodedOp& code);

}  // namespace cupola::cpu::sanitizer
