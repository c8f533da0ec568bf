// csrc/cpu/sanitizer/use.cpp - classifies instructions by their table row.
#include "cpu/sanitizer/use.hpp"

#include "cpu/interpreter/kernel.hpp"

namespace cupola::cpu::sanitizer {
namespace {

using interpreter::DecodedOp;
using Kind = Use::Kind;
using ptx::Opcode;

Kind kind_of(Opcode opcode) {
    switch (opcode) {
        case Opcode::ld:
        case Opcode::ldu:
            return Kind::load;
        case Opcode::st:
            return Kind::store;
        case Opcode::atom:
        case Opcode::red:
            return Kind::atomic;
        case Opcode::fence:
        case Opcode::fence_mbarrier_init:
        case Opcode::fence_proxy:
        case Opcode::fence_sync_restrict:
        case Opcode::membar:
        case Opcode::membar_proxy:
            return Kind::fence;
        case Opcode::bar_warp_sync:
            return Kind::warp_barrier;
        case Opcode::cp_reduce_async_bulk:
            return Kind::bulk_atomic;
        case Opcode::elect_sync:
        case Opcode::match_all_sync:
        case Opcode::match_any_sync:
        case Opcode::redux_sync:
        case Opcode::shfl_sync:
        case Opcode::vote_ballot_sync:
        case Opcode::vote_sync:
            return Kind::warp_operation;
        default:
            return Kind::none;
    }
}

std::uint8_t members_of(Opcode opcode) {
    if (opcode == Opcode::bar_warp_sync) return 0;
    if (opcode == Opcode::shfl_sync) return 5;
    return opcode == Opcode::match_all_sync ? 3 : 2;
}

}  // namespace

Use use_of(const interpreter::KernelCode& kernel, const DecodedOp& code) {
    Use use;
    if (code.pseudo == interpreter::Pseudo::cluster_arrive) use.kind = Kind::cluster_arrive;
    if (code.pseudo == interpreter::Pseudo::cluster_wait) use.kind = Kind::cluster_wait;
    const interpreter::Origin* const origin = kernel.origin_of(code);
    if (!origin) return use;
    const Opcode opcode = origin->form.opcode();
    use.kind = kind_of(opcode);
    use.bytes = static_cast<std::uint8_t>(ptx::bytes_of(origin->key.type));
    if (use.kind == Kind::warp_barrier || use.kind == Kind::warp_operation)
        use.members = members_of(opcode);
    return use;
}

}  // namespace cupola::cpu::sanitizer
