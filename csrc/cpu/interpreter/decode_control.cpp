// csrc/cpu/interpreter/decode_control.cpp - decodes control flow and barriers.
#include "cpu/interpreter/control.hpp"
#include "cpu/interpreter/decode.hpp"

namespace cupola::cpu::interpreter {
void Decoder::control_flow(const ptx::Instruction& i) {
    switch (i.form.opcode()) {
        case Opcode::bra: {
            const std::uint32_t block = block_of_[f_->labels[operand(i, 0).index]];
            fixups_.push_back({static_cast<std::uint32_t>(kernel_->code.size()), block});
            if (i.guard == ptx::absent) {
                emit(control.jump);
            } else {
                DecodedOp& c = emit(control.branch, reg(i.guard));
                if (i.guard_negated) c.flags |= flag::negate;
            }
            break;
        }
        case Opcode::brx_idx: {
            const std::int32_t index = source(operand(i, 0), Type::b32);
            TableFixup fix;
            fix.code = static_cast<std::uint32_t>(kernel_->code.size());
            fix.table = static_cast<std::uint32_t>(kernel_->tables.size());
            for (const std::uint32_t label : f_->tables[operand(i, 1).index])
                fix.blocks.push_back(block_of_[f_->labels[label]]);
            kernel_->tables.emplace_back();
            emit(control.branch_indexed, index).imm = static_cast<std::int64_t>(fix.table);
            table_fixups_.push_back(std::move(fix));
            break;
        }
        case Opcode::call:
            call(i);
            break;
        case Opcode::ret:
            leave();
            break;
        case Opcode::alloca_:
        case Opcode::stacksave:
        case Opcode::stackrestore:
            stack(i);
            break;
        case Opcode::exit:
            emit(control.exit);
            break;
        case Opcode::trap:
            emit(control.trap);
            break;
        case Opcode::brkpt:
            emit(control.breakpoint);
            break;
        case Opcode::nanosleep:
            emit(control.sleep, 0, source(operand(i, 0), Type::u32));
            break;
        default:
            // pmevent is for profilers, setmaxnreg for a GPU's register file. Grids of a stream
            // never overlap, which is more than griddepcontrol requires.
            break;
    }
}

// op: destination, barrier, threads, predicate.
void Decoder::barrier(const ptx::Instruction& i) {
    const ptx::Form& form = i.form.form();
    DecodedOp code;
    code.line = i.line;
    code.flags = flag::strong;
    if (ptx::is_bar(form.opcode) || field::aligned.get(i.modifiers) != 0)
        code.flags |= flag::aligned;
    const bool arrives = form.opcode == Opcode::bar_arrive || form.opcode == Opcode::barrier_arrive;
    (arrives ? control.barrier_arrive : control.barrier).bind(code);
    BarrierKind kind = BarrierKind::plain;
    code.op[2] = constant(4, 0);
    unsigned words = 0;
    for (unsigned n = 0; n < form.operands.count; ++n) {
        const ptx::Operand& o = operand(i, n);
        switch (form.operands.list[n]) {
            case OperandConstraint::d:
                kind = BarrierKind::popc;
                code.op[0] = destination(o);
                break;
            case OperandConstraint::p:
                kind = field::operation.get(i.modifiers) == static_cast<unsigned>(ptx::Atomic::and_)
                           ? BarrierKind::all
                           : BarrierKind::any;
                code.op[0] = destination(o);
                break;
            case OperandConstraint::np:
                code.op[3] = predicate(o);
                break;
            default:
                code.op[++words] = source(o, Type::b32);
                break;
        }
    }
    code.count = static_cast<std::uint8_t>(kind);
    kernel_->code.push_back(code);
}

}  // namespace cupola::cpu::interpreter
