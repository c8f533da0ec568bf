// csrc/cpu/interpreter/effect.hpp - how an operation acts on memory and on other lanes.
#pragma once

#include <cstdint>

#include "cpu/interpreter/kernel.hpp"

namespace cupola::cpu::interpreter {

// Asynchronous operations of a thread, by the operation that waits for them.
enum class Copies : std::uint8_t {
    none,
    grouped,        // cp.async: a wait for its group, or an mbarrier that counts the arrival
    counted,        // bulk and tensor copies whose bytes an mbarrier counts
    bulk_grouped,   // bulk and tensor copies of a bulk group
    products,       // wgmma.mma_async: a wait for its group
    tensor,         // tcgen05.mma, cp and shift: an mbarrier that tcgen05.commit names
    tensor_loads,   // tcgen05.ld: tcgen05.wait::ld
    tensor_stores,  // tcgen05.st: tcgen05.wait::st
};

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
    // How an operation acts on asynchronous copies. `access`: its accesses are those of a copy, and
    // a signal to an mbarrier says that the copy is complete.
    enum class Step : std::uint8_t {
        none,
        access,
        commit,
        wait,       // DecodedOp::imm: the number of groups that may be incomplete
        wait_read,  // as wait, for the reads of the groups alone
        wait_all,
        test,  // of an mbarrier. op: [0] predicate, [1] generic address
    };
    Kind kind = Kind::none;
    std::uint8_t bytes = 0;    // of one element
    std::uint8_t members = 0;  // index in DecodedOp::op of the member mask
    Copies copies = Copies::none;
    Step step = Step::none;
};

Effect effect_of(const KernelCode& kernel, const DecodedOp& code);

}  // namespace cupola::cpu::interpreter
