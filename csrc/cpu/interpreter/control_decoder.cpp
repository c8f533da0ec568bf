// csrc/cpu/interpreter/control_decoder.cpp - decodes control flow and barriers.
#include "cpu/interpreter/control_decoder.hpp"

#include <utility>

#include "cpu/interpreter/control.hpp"

namespace cupola::cpu::interpreter {

std::vector<BasicBlock> ControlDecoder::begin() {
    branches_.clear();
    indexed_.clear();
    return basic_blocks(functions_.current(), block_of_);
}

void ControlDecoder::decode(const ptx::Instruction& i) {
    switch (i.form.opcode()) {
        case Opcode::bra: {
            const std::uint32_t block =
                block_of_[functions_.current().labels[functions_.operand(i, 0).index]];
            branches_.push_back({code_.size(), block});
            if (i.guard == ptx::absent) {
                code_.emit(control.jump);
            } else {
                DecodedOp& c = code_.emit(control.branch, operands_.reg(i.guard));
                if (i.guard_negated) c.flags |= flag::negate;
            }
            break;
        }
        case Opcode::brx_idx: {
            const std::int32_t index = operands_.source(functions_.operand(i, 0), Type::b32);
            IndexedBranch fix;
            fix.code = code_.size();
            fix.table = static_cast<std::uint32_t>(code_.kernel().tables.size());
            for (const std::uint32_t label :
                 functions_.current().tables[functions_.operand(i, 1).index])
                fix.blocks.push_back(block_of_[functions_.current().labels[label]]);
            code_.kernel().tables.emplace_back();
            code_.emit(control.branch_indexed, index).imm = static_cast<std::int64_t>(fix.table);
            indexed_.push_back(std::move(fix));
            break;
        }
        case Opcode::call:
            calls_.decode(i);
            break;
        case Opcode::ret:
            leave();
            break;
        case Opcode::alloca_:
        case Opcode::stacksave:
        case Opcode::stackrestore:
            stack_.decode(i);
            break;
        case Opcode::exit:
            code_.emit(control.exit);
            break;
        case Opcode::trap:
            code_.emit(control.trap);
            break;
        case Opcode::brkpt:
            code_.emit(control.breakpoint);
            break;
        case Opcode::nanosleep:
            code_.emit(control.sleep, 0, operands_.source(functions_.operand(i, 0), Type::u32));
            break;
        default:
            // pmevent is for profilers, and setmaxnreg for a GPU's register file: both do nothing.
            // Grids of a stream never overlap, which is more than griddepcontrol requires.
            break;
    }
}

// op: destination, barrier, threads, predicate.
void ControlDecoder::barrier(const ptx::Instruction& i) {
    const ptx::Form& form = i.form.form();
    DecodedOp code;
    code.line = i.line;
    code.flags = flag::strong;
    if (ptx::is_bar(form.opcode) || field::aligned.get(i.modifiers) != 0)
        code.flags |= flag::aligned;
    const bool arrives = form.opcode == Opcode::bar_arrive || form.opcode == Opcode::barrier_arrive;
    (arrives ? control.barrier_arrive : control.barrier).bind(code);
    BarrierKind kind = BarrierKind::plain;
    code.op[2] = registers_.constant(4, 0);
    unsigned words = 0;
    for (unsigned n = 0; n < form.operands.count; ++n) {
        const ptx::Operand& o = functions_.operand(i, n);
        switch (form.operands.list[n]) {
            case OperandConstraint::d:
                kind = BarrierKind::popc;
                code.op[0] = operands_.destination(o);
                break;
            case OperandConstraint::p:
                kind = field::operation.get(i.modifiers) == static_cast<unsigned>(ptx::Atomic::and_)
                           ? BarrierKind::all
                           : BarrierKind::any;
                code.op[0] = operands_.destination(o);
                break;
            case OperandConstraint::np:
                code.op[3] = operands_.predicate(o);
                break;
            default:
                code.op[++words] = operands_.source(o, Type::b32);
                break;
        }
    }
    code.count = static_cast<std::uint8_t>(kind);
    code_.append(code);
}

void ControlDecoder::jump(std::uint32_t block) {
    branches_.push_back({code_.size(), block});
    code_.emit(control.jump);
}

void ControlDecoder::leave() {
    if (functions_.part().top != 0)
        code_.emit("mov.u32", registers_.special(Hidden::local_top, 4), functions_.part().top);
    code_.emit(functions_.current().entry ? control.exit : control.ret);
}

void ControlDecoder::end() {
    const DecodedFunction& part = functions_.part();
    for (const Branch& fix : branches_)
        code_.kernel().code[fix.code].target =
            static_cast<std::int32_t>(part.block_start[fix.block]) -
            static_cast<std::int32_t>(fix.code);
    for (const IndexedBranch& fix : indexed_) {
        auto& table = code_.kernel().tables[fix.table];
        for (const std::uint32_t block : fix.blocks)
            table.push_back(static_cast<std::int32_t>(part.block_start[block]) -
                            static_cast<std::int32_t>(fix.code));
    }
}

// A loop with strong accesses may wait for other lanes or warps: it gets short time slices.
void ControlDecoder::charge_branches() {
    auto& code = code_.kernel().code;
    std::vector<std::uint32_t> watching(code.size() + 1);
    for (std::size_t n = 0; n < code.size(); ++n)
        watching[n + 1] = watching[n] + ((code[n].flags & flag::strong) != 0);
    for (std::size_t n = 1; n < code.size(); ++n) {
        DecodedOp& c = code[n];
        if (c.pseudo == Pseudo::call || c.pseudo == Pseudo::call_indirect ||
            c.pseudo == Pseudo::branch_indexed)
            c.cost = 16;
        if (c.target > 0 || (c.pseudo != Pseudo::jump && c.pseudo != Pseudo::branch)) continue;
        const std::size_t from = n - static_cast<std::size_t>(-c.target);
        c.cost = watching[n] != watching[from] ? 128 : 1;
    }
}

}  // namespace cupola::cpu::interpreter
