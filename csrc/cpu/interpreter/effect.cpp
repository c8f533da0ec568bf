// csrc/cpu/interpreter/effect.cpp - classifies operations by the table rows of their instructions.
#include "cpu/interpreter/effect.hpp"

#include <tuple>
#include <utility>

#include "cpu/interpreter/async.hpp"

namespace cupola::cpu::interpreter {
namespace {

using ptx::Opcode;

Effect::Kind effect_kind_of(Opcode opcode) {
    switch (opcode) {
        case Opcode::ld:
        case Opcode::ldu:
            return Effect::Kind::load;
        case Opcode::st:
            return Effect::Kind::store;
        case Opcode::atom:
        case Opcode::red:
            return Effect::Kind::atomic;
        case Opcode::fence:
        case Opcode::fence_mbarrier_init:
        case Opcode::fence_proxy:
        case Opcode::fence_sync_restrict:
        case Opcode::membar:
        case Opcode::membar_proxy:
            return Effect::Kind::fence;
        case Opcode::bar_warp_sync:
            return Effect::Kind::warp_barrier;
        case Opcode::cp_reduce_async_bulk:
            return Effect::Kind::bulk_atomic;
        case Opcode::elect_sync:
        case Opcode::match_all_sync:
        case Opcode::match_any_sync:
        case Opcode::redux_sync:
        case Opcode::shfl_sync:
        case Opcode::vote_ballot_sync:
        case Opcode::vote_sync:
            return Effect::Kind::warp_operation;
        default:
            return Effect::Kind::none;
    }
}

std::uint8_t members_of(Opcode opcode) {
    if (opcode == Opcode::bar_warp_sync) return 0;
    if (opcode == Opcode::shfl_sync) return 5;
    return opcode == Opcode::match_all_sync ? 3 : 2;
}

// How an instruction acts on asynchronous copies.
std::pair<Copies, Effect::Step> copies_of(AsyncKind kind, bool has_mbarrier) {
    using Step = Effect::Step;
    switch (kind) {
        case AsyncKind::CopyAsync:
        case AsyncKind::MbarrierArriveCopied:
        case AsyncKind::MbarrierArriveCounted:
            return {Copies::grouped, Step::access};
        case AsyncKind::BulkToShared:
        case AsyncKind::BulkInside:
        case AsyncKind::BulkMulticast:
        case AsyncKind::BulkToCluster:
        case AsyncKind::TensorLoad:
        case AsyncKind::TensorSend:
            return {Copies::counted, Step::access};
        case AsyncKind::BulkToGlobal:
        case AsyncKind::BulkMasked:
        case AsyncKind::TensorStore:
        case AsyncKind::TensorReduce:
            return {Copies::bulk_grouped, Step::access};
        case AsyncKind::BulkReduce:
            return {has_mbarrier ? Copies::counted : Copies::bulk_grouped, Step::access};
        case AsyncKind::CommitGroup:
            return {Copies::grouped, Step::commit};
        case AsyncKind::WaitGroup:
            return {Copies::grouped, Step::wait};
        case AsyncKind::WaitAll:
            return {Copies::grouped, Step::wait_all};
        case AsyncKind::CommitBulk:
            return {Copies::bulk_grouped, Step::commit};
        case AsyncKind::WaitBulk:
            return {Copies::bulk_grouped, Step::wait};
        case AsyncKind::WaitBulkRead:
            return {Copies::bulk_grouped, Step::wait_read};
        case AsyncKind::MbarrierTest:
        case AsyncKind::MbarrierTestParity:
        case AsyncKind::MbarrierTry:
        case AsyncKind::MbarrierTryParity:
            return {Copies::none, Step::test};
        default:
            return {Copies::none, Step::none};
    }
}

}  // namespace

Effect effect_of(const KernelCode& kernel, const DecodedOp& code) {
    Effect effect;
    if (code.pseudo == Pseudo::cluster_arrive) effect.kind = Effect::Kind::cluster_arrive;
    if (code.pseudo == Pseudo::cluster_wait) effect.kind = Effect::Kind::cluster_wait;
    const Origin* const origin = kernel.origin_of(code);
    if (!origin) return effect;
    const Opcode opcode = origin->form.opcode();
    effect.kind = effect_kind_of(opcode);
    effect.bytes = static_cast<std::uint8_t>(ptx::bytes_of(origin->key.type));
    if (effect.kind == Effect::Kind::warp_barrier || effect.kind == Effect::Kind::warp_operation)
        effect.members = members_of(opcode);
    if (is_async(origin->form))
        std::tie(effect.copies, effect.step) =
            copies_of(async_kind_of(origin->form), origin->form.form().operands.count > 3);
    return effect;
}

}  // namespace cupola::cpu::interpreter
