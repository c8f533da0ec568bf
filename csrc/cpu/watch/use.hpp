// csrc/cpu/watch/use.hpp - properties of an instruction that the checks need.
#pragma once

#include <cstdint>

#include "cpu/exec/kernel.hpp"

namespace cupola::cpu::watch {

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
    std::uint8_t members = 0;  // index in Code::op of the member mask
};

Use use_of(const exec::KernelCode& kernel, const exec::Code& code);

}  // namespace cupola::cpu::watch
