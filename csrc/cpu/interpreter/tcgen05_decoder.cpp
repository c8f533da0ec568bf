// csrc/cpu/interpreter/tcgen05_decoder.cpp - decodes instructions on tensor memory.
#include "cpu/interpreter/tcgen05_decoder.hpp"

#include <utility>

namespace cupola::cpu::interpreter {
namespace {

// Named as the semantics in the table's rows.
enum class Tcgen05Kind : std::uint8_t {
    AllocateColumns,
    FreeColumns,
    RelinquishPermit,
    LoadColumns,
    StoreColumns,
    Nothing,
    Commit,
    CommitMulticast,
    Multiply,
};

constexpr Tcgen05Kind kinds[] = {
#define FORM(mnemonic, semantics, ...) Tcgen05Kind::semantics,
#include "ptx/table/tcgen05.inc"
#undef FORM
};

}  // namespace

void Tcgen05Decoder::decode(const ptx::Instruction& i) {
    const auto space = static_cast<ptx::Space>(field::space.get(i.modifiers));
    const auto word = [&](unsigned n) {
        return operands_.source(functions_.operand(i, n), Type::b32);
    };
    const Tcgen05Kind kind = kinds[i.form.row()];
    switch (kind) {
        case Tcgen05Kind::AllocateColumns: {
            const std::int32_t to = addresses_.host_address(functions_.operand(i, 0), space),
                               count = word(1);
            code_.emit(tensor_memory_control.allocate, 0, to, count).flags = flag::strong;
            break;
        }
        case Tcgen05Kind::FreeColumns: {
            const std::int32_t address = word(0), count = word(1);
            code_.emit(tensor_memory_control.release, 0, address, count).flags = flag::strong;
            break;
        }
        case Tcgen05Kind::RelinquishPermit:
            code_.emit(tensor_memory_control.relinquish).flags = flag::strong;
            break;
        case Tcgen05Kind::LoadColumns:
        case Tcgen05Kind::StoreColumns:
            access(i, kind == Tcgen05Kind::LoadColumns);
            break;
        case Tcgen05Kind::Multiply:
            multiply(i);
            break;
        case Tcgen05Kind::Nothing:
            break;
        case Tcgen05Kind::Commit:
        case Tcgen05Kind::CommitMulticast: {
            const std::int32_t object = addresses_.host_address(functions_.operand(i, 0), space);
            const std::int32_t blocks = kind == Tcgen05Kind::Commit
                                            ? 0
                                            : operands_.source(functions_.operand(i, 1), Type::b16);
            code_.emit(tensor_memory_control.commit, 0, object, blocks).flags = flag::strong;
            break;
        }
    }
}

void Tcgen05Decoder::multiply(const ptx::Instruction& i) {
    const ptx::Form& form = i.form.form();
    TensorProduct op;
    op.kind = static_cast<ptx::TensorKind>(field::tensor_kind.get(i.modifiers));
    op.a_in_tensor_memory = form.operands.list[1] == OperandConstraint::tm;
    op.masked = form.operands.list[4] == OperandConstraint::mask;
    const ptx::Operand &d = functions_.operand(i, 0), &a = functions_.operand(i, 1);
    op.d = operands_.reg(d.index);
    op.offset_d = static_cast<std::uint32_t>(d.value);
    op.a = op.a_in_tensor_memory ? operands_.reg(a.index) : operands_.source(a, Type::b64);
    if (op.a_in_tensor_memory) op.offset_a = static_cast<std::uint32_t>(a.value);
    op.b = operands_.source(functions_.operand(i, 2), Type::b64);
    op.instruction = operands_.source(functions_.operand(i, 3), Type::b32);
    for (unsigned n = 0; op.masked && n < 4; ++n)
        op.mask[n] = operands_.source(functions_.element(functions_.operand(i, 4), n), Type::b32);
    op.add = operands_.predicate(functions_.operand(i, op.masked ? 5 : 4));
    DecodedOp& code = code_.emit(tensor_memory_control.multiply);
    code.flags = flag::strong;
    code.imm = static_cast<std::int64_t>(code_.kernel().tensor_products.size());
    code_.kernel().tensor_products.push_back(op);
}

void Tcgen05Decoder::access(const ptx::Instruction& i, bool loads) {
    TensorAccess access(i.modifiers);
    const bool two = access.form.shape == ptx::TensorShape::s16x32bx2;
    const ptx::Operand& memory = functions_.operand(i, loads ? 1 : 0);
    access.offset = static_cast<std::uint32_t>(memory.value);
    if (two) access.second = static_cast<unsigned>(functions_.operand(i, loads ? 2 : 1).value);
    const ptx::Operand& vector = functions_.operand(i, loads ? 0 : two ? 2 : 1);
    for (unsigned n = 0; n < vector.count; ++n) {
        const ptx::Operand& e = functions_.current().operands[vector.index + n];
        access.registers.push_back(loads ? operands_.destination(e)
                                         : operands_.source(e, Type::b32));
    }
    DecodedOp& code = code_.emit(loads ? tensor_memory_control.load : tensor_memory_control.store,
                                 0, operands_.reg(memory.index));
    code.flags = flag::strong;
    code.imm = static_cast<std::int64_t>(code_.kernel().tensor_accesses.size());
    code_.kernel().tensor_accesses.push_back(std::move(access));
}

}  // namespace cupola::cpu::interpreter
