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
    MultiplySparse,
    MultiplyStationary,
    MultiplySparseStationary,
    CopyColumns,
    ShiftRows,
    ReduceColumns,
};

constexpr Tcgen05Kind kinds[] = {
#define FORM(mnemonic, semantics, ...) Tcgen05Kind::semantics,
#include "ptx/table/tcgen05.inc"
#undef FORM
};

// The rows of tcgen05.wait::ld and wait::st are the first two without semantics.
constexpr unsigned first_wait() {
    unsigned row = 0;
    while (kinds[row] != Tcgen05Kind::Nothing) ++row;
    return row;
}
constexpr unsigned row_of_wait_for_loads = first_wait(),
                   row_of_wait_for_stores = row_of_wait_for_loads + 1;
static_assert(kinds[row_of_wait_for_stores] == Tcgen05Kind::Nothing);

std::int64_t allocation_bits(ptx::Bits modifiers) {
    return field::pair.get(modifiers) | field::exclusive.get(modifiers) << 1;
}

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
            DecodedOp& code = code_.emit(tensor_memory_control.allocate, 0, to, count);
            code.flags = flag::strong;
            code.imm = allocation_bits(i.modifiers);
            break;
        }
        case Tcgen05Kind::FreeColumns: {
            const std::int32_t address = word(0), count = word(1);
            DecodedOp& code = code_.emit(tensor_memory_control.release, 0, address, count);
            code.flags = flag::strong;
            code.imm = allocation_bits(i.modifiers);
            break;
        }
        case Tcgen05Kind::RelinquishPermit:
            code_.emit(tensor_memory_control.relinquish).flags = flag::strong;
            break;
        case Tcgen05Kind::LoadColumns:
        case Tcgen05Kind::StoreColumns:
            access(i, kind == Tcgen05Kind::LoadColumns);
            break;
        case Tcgen05Kind::ReduceColumns:
            reduce(i);
            break;
        case Tcgen05Kind::Multiply:
            multiply(i, false, false);
            break;
        case Tcgen05Kind::MultiplySparse:
            multiply(i, true, false);
            break;
        case Tcgen05Kind::MultiplyStationary:
            multiply(i, false, true);
            break;
        case Tcgen05Kind::MultiplySparseStationary:
            multiply(i, true, true);
            break;
        case Tcgen05Kind::CopyColumns:
            copy(i);
            break;
        case Tcgen05Kind::ShiftRows: {
            const TensorAddress to = address(functions_.operand(i, 0));
            DecodedOp& code = code_.emit(tensor_memory_control.shift, 0, to.at);
            code.flags = flag::strong;
            code.imm = static_cast<std::int64_t>(field::pair.get(i.modifiers)) << 32 | to.offset;
            break;
        }
        case Tcgen05Kind::Nothing:
            if (i.form.row() == row_of_wait_for_loads)
                code_.emit(tensor_memory_control.wait_loads);
            else if (i.form.row() == row_of_wait_for_stores)
                code_.emit(tensor_memory_control.wait_stores);
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

TensorAddress Tcgen05Decoder::address(const ptx::Operand& o) {
    return {operands_.reg(o.index), static_cast<std::uint32_t>(o.value)};
}

// The operands are in the order of the row's constraints.
void Tcgen05Decoder::multiply(const ptx::Instruction& i, bool sparse, bool stationary) {
    const ptx::OperandConstraints& row = i.form.form().operands;
    const ptx::Target target = functions_.module().target;
    TensorProduct op;
    op.kind.types = static_cast<ptx::TensorKind>(field::tensor_kind.get(i.modifiers));
    op.kind.scales = static_cast<ptx::TensorScales>(field::tensor_scales.get(i.modifiers));
    op.kind.sparse = sparse;
    op.kind.stationary = stationary;
    op.kind.pair = field::pair.get(i.modifiers) != 0;
    op.shifts_rows = field::shifts_rows.get(i.modifiers) != 0;
    op.kind.long_k = target.number == 103 && target.variant == 'a';
    unsigned n = 0;
    const auto is = [&](OperandConstraint c) { return n < row.count && row.list[n] == c; };
    const auto next = [&]() -> const ptx::Operand& { return functions_.operand(i, n++); };
    op.d = address(next());
    op.a_in_tensor_memory = is(OperandConstraint::tm);
    if (op.a_in_tensor_memory)
        op.a = address(next());
    else
        op.a.at = operands_.source(next(), Type::b64);
    op.b = operands_.source(next(), Type::b64);
    if (sparse) op.metadata = address(next());
    op.instruction = operands_.source(next(), Type::b32);
    op.masked = is(OperandConstraint::mask);
    if (op.masked) {
        const ptx::Operand& mask = next();
        for (unsigned word = 0; word < (op.kind.pair ? 8u : 4u); ++word)
            op.mask[word] = operands_.source(functions_.element(mask, word), Type::b32);
    }
    if (is(OperandConstraint::tm)) {
        op.scales_a = address(next());
        op.scales_b = address(next());
    }
    op.add = operands_.predicate(next());
    if (is(OperandConstraint::halvings)) op.halvings = static_cast<unsigned>(next().value);
    if (is(OperandConstraint::md)) op.zero_columns = operands_.source(next(), Type::b64);
    DecodedOp& code = code_.emit(tensor_memory_control.multiply);
    code.flags = flag::strong;
    code.imm = static_cast<std::int64_t>(code_.kernel().tensor_products.size());
    code_.kernel().tensor_products.push_back(op);
}

void Tcgen05Decoder::copy(const ptx::Instruction& i) {
    TensorCopy op;
    op.shape = static_cast<ptx::CopyShape>(field::copy_shape.get(i.modifiers));
    op.format = static_cast<ptx::CopyFormat>(field::copy_format.get(i.modifiers));
    const TensorAddress to = address(functions_.operand(i, 0));
    op.offset = to.offset;
    op.pair = field::pair.get(i.modifiers) != 0;
    const std::int32_t from = operands_.source(functions_.operand(i, 1), Type::b64);
    DecodedOp& code = code_.emit(tensor_memory_control.copy, 0, to.at, from);
    code.flags = flag::strong;
    code.imm = static_cast<std::int64_t>(code_.kernel().tensor_copies.size());
    code_.kernel().tensor_copies.push_back(op);
}

// The operands: registers, the reduced value, the address, and the columns between two halves.
void Tcgen05Decoder::reduce(const ptx::Instruction& i) {
    TensorAccess access(i.modifiers);
    access.reduction = static_cast<ptx::ColumnReduction>(field::column_reduction.get(i.modifiers));
    access.type = i.type;
    access.magnitude = field::magnitude.get(i.modifiers) != 0;
    access.nan = field::nan.get(i.modifiers) != 0;
    access.reduced = operands_.destination(functions_.operand(i, 1));
    const bool two = access.form.shape == ptx::TensorShape::s16x32bx2;
    if (two) access.second = static_cast<unsigned>(functions_.operand(i, 3).value);
    emit(tensor_memory_control.load, access, functions_.operand(i, 2), functions_.operand(i, 0),
         true);
}

void Tcgen05Decoder::access(const ptx::Instruction& i, bool loads) {
    TensorAccess access(i.modifiers);
    const bool two = access.form.shape == ptx::TensorShape::s16x32bx2;
    const ptx::Operand& memory = functions_.operand(i, loads ? 1 : 0);
    if (two) access.second = static_cast<unsigned>(functions_.operand(i, loads ? 2 : 1).value);
    emit(loads ? tensor_memory_control.load : tensor_memory_control.store, access, memory,
         functions_.operand(i, loads ? 0
                               : two ? 2
                                     : 1),
         loads);
}

void Tcgen05Decoder::emit(Handler handler, TensorAccess& access, const ptx::Operand& memory,
                          const ptx::Operand& vector, bool loads) {
    access.offset = static_cast<std::uint32_t>(memory.value);
    for (unsigned n = 0; n < vector.count; ++n) {
        const ptx::Operand& e = functions_.current().operands[vector.index + n];
        access.registers.push_back(loads ? operands_.destination(e)
                                         : operands_.source(e, Type::b32));
    }
    DecodedOp& code = code_.emit(handler, 0, operands_.reg(memory.index));
    code.flags = flag::strong;
    code.imm = static_cast<std::int64_t>(code_.kernel().tensor_accesses.size());
    code_.kernel().tensor_accesses.push_back(std::move(access));
}

}  // namespace cupola::cpu::interpreter
