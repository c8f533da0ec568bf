// csrc/cpu/watch/use.hpp - what of an instruction the checks look at.
#pragma once

#include <cstdint>

#include "cpu/exec/code.hpp"

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
        bulk_atomic,  // a reduction of a whole stretch
    };
    Kind kind = Kind::none;
    std::uint8_t bytes = 0;    // of an element
    std::uint8_t members = 0;  // which of Code::op names the lanes that take part
};

Use use_of(const exec::Code& code);

}  // namespace cupola::cpu::watch
