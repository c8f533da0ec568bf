// csrc/cpu/interpreter/effect.cpp - classifies operations by the table rows of their instructions.
#include "cpu/interpreter/effect.hpp"

#include <tuple>
#include <utility>

#include "cpu/interpreter/async.hpp"
#include "cpu/interpreter/matrix.hpp"
#include "cpu/interpreter/tcgen05.hpp"

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
        case AsyncKind::StoreAsync:
        case AsyncKind::ReduceAsync:
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

// How an operation acts on asynchronous operations of the tensor cores. Its handler tells, as the
// decoder composes it of no row.
std::pair<Copies, Effect::Step> tensor_operation_of(const DecodedOp& code) {
    using Step = Effect::Step;
    const TensorMemoryControl& tensor = tensor_memory_control;
    const std::tuple<Handler, Copies, Step> steps[] = {
        {tensor.multiply, Copies::tensor, Step::access},
        {tensor.copy, Copies::tensor, Step::access},
        {tensor.shift, Copies::tensor, Step::access},
        {tensor.commit, Copies::tensor, Step::access},
        {tensor.load, Copies::tensor_loads, Step::access},
        {tensor.store, Copies::tensor_stores, Step::access},
        {tensor.wait_loads, Copies::tensor_loads, Step::wait_all},
        {tensor.wait_stores, Copies::tensor_stores, Step::wait_all},
        {matrix_control.multiply_group, Copies::products, Step::access},
        {matrix_control.commit_group, Copies::products, Step::commit},
        {matrix_control.wait_group, Copies::products, Step::wait},
    };
    for (const auto& [handler, copies, step] : steps)
        if (code.run == handler) return {copies, step};
    return {Copies::none, Step::none};
}

// A store or reduction of one element whose bytes an mbarrier counts, without that count.
Effect::Kind far_access_of(AsyncKind kind, const DecodedOp& code) {
    if (code.run == async_control.complete) return Effect::Kind::none;
    if (kind == AsyncKind::StoreAsync || kind == AsyncKind::StoreRelease)
        return Effect::Kind::store;
    return kind == AsyncKind::ReduceAsync || kind == AsyncKind::ReduceRelease ? Effect::Kind::atomic
                                                                              : Effect::Kind::none;
}

}  // namespace

Effect effect_of(const KernelCode& kernel, const DecodedOp& code) {
    Effect effect;
    if (code.pseudo == Pseudo::cluster_arrive) effect.kind = Effect::Kind::cluster_arrive;
    if (code.pseudo == Pseudo::cluster_wait) effect.kind = Effect::Kind::cluster_wait;
    std::tie(effect.copies, effect.step) = tensor_operation_of(code);
    const Origin* const origin = kernel.origin_of(code);
    if (!origin) return effect;
    const Opcode opcode = origin->form.opcode();
    effect.kind = effect_kind_of(opcode);
    effect.bytes = static_cast<std::uint8_t>(ptx::bytes_of(origin->key.type));
    if (effect.kind == Effect::Kind::warp_barrier || effect.kind == Effect::Kind::warp_operation)
        effect.members = members_of(opcode);
    if (is_async(origin->form)) {
        const AsyncKind kind = async_kind_of(origin->form);
        if (effect.kind == Effect::Kind::none) effect.kind = far_access_of(kind, code);
        std::tie(effect.copies, effect.step) =
            copies_of(kind, origin->form.form().operands.count > 3);
    }
    return effect;
}

}  // namespace cupola::cpu::interpreter
