// csrc/cpu/analysis/describe_operations.cpp - finds the operands and successors of each operation
// of a kernel.
#include "cpu/analysis/passes.hpp"
#include "cpu/interpreter/async.hpp"
#include "cpu/interpreter/control.hpp"

namespace cupola::cpu::compiler {

using namespace interpreter;
using ptx::InstructionGroupId;
using ptx::Opcode;
using ptx::OperandConstraint;
using ptx::Type;
namespace field = ptx::field;

namespace {

// Branches may share a table of targets, but each operation has its own copy.
constexpr std::size_t max_targets = std::size_t{1} << 18;

bool is_in(ptx::FormId form, InstructionGroupId group) {
    return form.group() == static_cast<unsigned>(group);
}

}  // namespace

bool has_row_type(ptx::FormId form) {
    return is_in(form, InstructionGroupId::integer) || is_in(form, InstructionGroupId::real) ||
           is_in(form, InstructionGroupId::compare) || is_in(form, InstructionGroupId::convert) ||
           is_in(form, InstructionGroupId::move);
}

namespace {

bool directed(const Key& key) {
    const auto round = static_cast<ptx::Round>(field::round.get(key.modifiers));
    return round == ptx::Round::rz || round == ptx::Round::rm || round == ptx::Round::rp;
}

// Bytes for each lane of such an operand; 0: a predicate.
bool bytes_at(OperandConstraint shape, const Key& key, std::uint8_t& bytes, bool& write) {
    const unsigned size = ptx::bytes_of(key.type), size2 = ptx::bytes_of(key.type2);
    write = false;
    unsigned wide = 0;
    switch (shape) {
        case OperandConstraint::d:
        case OperandConstraint::dr:
            write = true;
            wide = size;
            break;
        case OperandConstraint::dw:
            write = true;
            wide = 2 * size;
            break;
        case OperandConstraint::d32:
            write = true;
            wide = 4;
            break;
        case OperandConstraint::a:
        case OperandConstraint::address:
            wide = size;
            break;
        case OperandConstraint::aw:
            wide = 2 * size;
            break;
        case OperandConstraint::a2:
        case OperandConstraint::ar2:
            wide = size2;
            break;
        case OperandConstraint::four_a2:
            wide = 4 * size2;
            break;
        case OperandConstraint::w:
            wide = 4;
            break;
        case OperandConstraint::h:
            wide = 2;
            break;
        case OperandConstraint::np:
        case OperandConstraint::cc_in:
            bytes = 0;
            return true;
        case OperandConstraint::p:
        case OperandConstraint::pq:
        case OperandConstraint::cc_out:
            write = true;
            bytes = 0;
            return true;
        default:
            return false;
    }
    bytes = static_cast<std::uint8_t>(wide);
    return wide != 0;
}

// Describes loads, stores and atomics, as MemoryDecoder encodes them.
bool describe_memory(KernelAnalysis& analysis, std::uint32_t n) {
    OpEffects& op = analysis.ops[n];
    const DecodedOp& c = analysis.kernel.code[n];
    const Opcode opcode = op.origin.form.opcode();
    const Key& key = op.origin.key;
    const auto bytes = static_cast<std::uint8_t>(ptx::bytes_of(key.type));
    const auto address = static_cast<std::uint8_t>((c.flags & flag::address32) ? 4 : 8);
    const bool load = ptx::is_load(opcode), store = opcode == Opcode::st;
    if (opcode == Opcode::prefetch) return true;
    if (!load && !store && !ptx::is_atomic(opcode)) return false;
    op.accesses.push_back({c.op[4], address, false});
    if (!load && !store) {
        const bool swaps = op.origin.form.form().operands.count == 4;
        op.accesses.push_back({c.op[1], bytes, false});
        if (swaps) op.accesses.push_back({c.op[2], bytes, false});
        if (opcode == Opcode::atom) op.accesses.push_back({c.op[0], bytes, true});
        const auto space = static_cast<ptx::Space>(field::space.get(key.modifiers));
        if (bytes <= 8 && !(c.flags & (flag::acquire | flag::release)) &&
            space != ptx::Space::local)
            op.kind = Kind::atomic;
        return true;
    }
    for (unsigned k = 0; k < c.count; ++k) op.accesses.push_back({c.op[k], bytes, load});
    const auto space = static_cast<ptx::Space>(field::space.get(key.modifiers));
    const bool simple =
        !(c.flags & flag::strong) && bytes <= 8 && space != ptx::Space::local && c.count != 3;
    if (simple) op.kind = load ? Kind::load : Kind::store;
    return true;
}

void describe_barrier(KernelAnalysis& analysis, std::uint32_t n) {
    OpEffects& op = analysis.ops[n];
    const DecodedOp& c = analysis.kernel.code[n];
    const auto kind = static_cast<BarrierKind>(c.count);
    op.changes_flow = op.entry_after = true;
    op.accesses = {{c.op[1], 4, false}, {c.op[2], 4, false}};
    if (c.pseudo == Pseudo::barrier && kind == BarrierKind::plain) op.kind = Kind::barrier;
    if (c.op[3] != 0) op.accesses.push_back({c.op[3], 0, false});
    if (kind != BarrierKind::plain)
        op.accesses.push_back(
            {c.op[0], static_cast<std::uint8_t>(kind == BarrierKind::popc ? 4 : 0), true});
}

// Describes a row of the table. If its operands' encoding is unknown, so are its accesses.
void describe_row(KernelAnalysis& analysis, std::uint32_t n) {
    OpEffects& op = analysis.ops[n];
    const DecodedOp& c = analysis.kernel.code[n];
    const ptx::Form& form = op.origin.form.form();
    const Key& key = op.origin.key;
    if (describe_memory(analysis, n)) return;
    if (is_async(op.origin.form) && is_of_group(async_kind_of(op.origin.form))) {
        op.kind = Kind::observed;
        return;
    }
    const bool sync = is_in(op.origin.form, InstructionGroupId::sync);
    if (form.opcode == Opcode::isspacep) {
        const auto bytes = static_cast<std::uint8_t>((c.flags & flag::address32) ? 4 : 8);
        op.accesses = {{c.op[0], 0, true}, {c.op[1], bytes, false}};
        return;
    }
    bool plain = true;
    for (unsigned k = 0; k < form.operands.count; ++k) {
        const OperandConstraint shape = form.operands.list[k];
        const unsigned slot = slot_of(form.operands, k);
        if (shape == OperandConstraint::imm) continue;
        if (shape == OperandConstraint::dp) {  // results of warp operations
            op.accesses.push_back({c.op[slot], 4, true});
            op.accesses.push_back({c.op[slot + 1], 0, true});
            plain &= sync;
            continue;
        }
        Access access{c.op[slot], 0, false};
        plain &= bytes_at(shape, key, access.bytes, access.write);
        op.accesses.push_back(access);
        if (shape == OperandConstraint::pq) op.accesses.push_back({c.op[slot + 1], 0, true});
    }
    const bool has_type = has_row_type(op.origin.form);
    const bool by_lane = op.origin.by_lane && has_type;
    if (!plain || (!op.origin.by_lane && !has_type && !sync)) {
        op.opaque = true;
        op.changes_flow = op.may_retry = op.entry_after = true;
        op.accesses.clear();
        return;
    }
    if (sync && form.operands.count != 0 && form.opcode != Opcode::activemask)
        op.changes_flow = op.may_retry = true;
    if (form.opcode == Opcode::vote_ballot_sync) op.kind = Kind::ballot;
    if (form.opcode == Opcode::shfl_sync) op.kind = Kind::shuffle;
    bool wide = false;
    for (const Access& access : op.accesses) wide |= access.bytes > 8;
    if (by_lane && !directed(key) && !wide) op.kind = Kind::lanes;
    if (has_type && !by_lane && key.type == Type::pred &&
        form.operands.list[0] == OperandConstraint::p)
        op.kind = Kind::logic;
}

void describe_pseudo(KernelAnalysis& analysis, std::uint32_t n) {
    OpEffects& op = analysis.ops[n];
    const DecodedOp& c = analysis.kernel.code[n];
    const auto to = static_cast<std::uint32_t>(static_cast<std::int64_t>(n) + c.target);
    const auto saved = [&](bool write) {
        for (const auto& [offset, bytes] :
             analysis.kernel.calls[static_cast<std::size_t>(c.imm)].saved)
            op.accesses.push_back({offset, static_cast<std::uint8_t>(bytes), write});
    };
    switch (c.pseudo) {
        case Pseudo::jump:
            op.kind = Kind::jump;
            op.targets = {to};
            op.no_fallthrough = true;
            break;
        case Pseudo::join:
            op.kind = Kind::join;
            break;
        case Pseudo::branch:
            op.kind = Kind::branch;
            op.accesses = {{c.op[0], 0, false}};
            op.targets = {to};
            break;
        case Pseudo::guard_begin:
            op.kind = Kind::guard_begin;
            op.accesses = {{c.op[0], 0, false}};
            break;
        case Pseudo::guard_end:
            op.kind = Kind::guard_end;
            break;
        case Pseudo::branch_indexed:
            op.changes_flow = op.no_fallthrough = true;
            op.accesses = {{c.op[0], 4, false}};
            for (const std::int32_t each : analysis.kernel.tables[static_cast<std::size_t>(c.imm)])
                op.targets.push_back(
                    static_cast<std::uint32_t>(static_cast<std::int64_t>(n) + each));
            break;
        case Pseudo::call:
        case Pseudo::call_indirect:
            op.changes_flow = op.no_fallthrough = true;
            saved(false);
            if (c.pseudo == Pseudo::call) {
                op.targets = {to};
            } else {
                op.accesses.push_back({c.op[0], 8, false});
                for (const auto& [address, start] :
                     analysis.kernel.calls[static_cast<std::size_t>(c.imm)].targets)
                    op.targets.push_back(start);
            }
            analysis.returns.push_back(n + 1);
            break;
        case Pseudo::call_end:
            saved(true);
            break;
        case Pseudo::exit:
            op.kind = Kind::exit;
            op.changes_flow = op.no_fallthrough = true;
            break;
        case Pseudo::ret:
        case Pseudo::trap:
        case Pseudo::breakpoint:
            op.changes_flow = op.no_fallthrough = true;
            break;
        case Pseudo::barrier:
        case Pseudo::barrier_arrive:
            return describe_barrier(analysis, n);
        case Pseudo::cluster_arrive:
        case Pseudo::cluster_wait:
            op.changes_flow = op.entry_after = true;
            break;
        case Pseudo::sleep:
            op.changes_flow = op.entry_after = true;
            op.accesses = {{c.op[1], 4, false}};
            break;
        case Pseudo::read_clock:
            op.accesses = {{c.op[0], c.bytes, true}};
            break;
        case Pseudo::runtime_call:
            break;
        case Pseudo::load_parameter:
            op.kind = c.bytes <= 8 ? Kind::parameter : Kind::handler;
            op.parameter = c.imm;
            op.accesses = {{c.op[0], c.bytes, true}};
            break;
        case Pseudo::pack:
        case Pseudo::unpack:
            if (c.bytes * c.count <= 8)
                op.kind = c.pseudo == Pseudo::pack ? Kind::pack : Kind::unpack;
            op.accesses.push_back(
                {c.op[0], static_cast<std::uint8_t>(c.bytes * c.count), c.pseudo == Pseudo::pack});
            for (unsigned k = 1; k <= c.count; ++k)
                op.accesses.push_back({c.op[k], c.bytes, c.pseudo == Pseudo::unpack});
            break;
        case Pseudo::count_lines:
            op.kind = Kind::count;
            break;
        case Pseudo::count_branch:
            op.kind = Kind::count_branch;
            op.accesses = {{c.op[0], 0, false}};
            break;
        case Pseudo::count_table:
            op.accesses = {{c.op[0], 4, false}};
            break;
        case Pseudo::none:
            op.opaque = op.changes_flow = op.may_retry = op.entry_after = true;
            break;
    }
}

void describe_operation(KernelAnalysis& analysis, std::uint32_t n) {
    OpEffects& op = analysis.ops[n];
    const DecodedOp& c = analysis.kernel.code[n];
    if (const interpreter::Origin* origin = analysis.kernel.origin_of(c)) {
        op.has_form = true;
        op.origin = *origin;
        return describe_row(analysis, n);
    }
    describe_pseudo(analysis, n);
}

}  // namespace

void describe_operations(KernelAnalysis& analysis) {
    bool guarded = false;
    std::size_t targets = 0;
    for (std::uint32_t n = 0; n < analysis.ops.size(); ++n) {
        describe_operation(analysis, n);
        OpEffects& op = analysis.ops[n];
        if (op.kind == Kind::guard_end) guarded = false;
        op.guarded = guarded;
        if (op.kind == Kind::guard_begin) guarded = true;
        if (guarded && op.opaque) op.changes_flow = op.may_retry = op.entry_after = false;
        if (guarded && op.changes_flow)
            throw UnsupportedKernel{"it has a guarded instruction that waits"};
        targets += op.targets.size();
        if (targets > max_targets) throw UnsupportedKernel{"it has too many branches"};
    }
}

}  // namespace cupola::cpu::compiler
