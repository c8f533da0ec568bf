// csrc/cpu/interpreter/matrix_decoder.cpp - decodes matrix instructions to tables of registers.
#include "cpu/interpreter/matrix_decoder.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace cupola::cpu::interpreter {

using ptx::Matrix;
using ptx::MatrixKind;

namespace {

constexpr bool orders_group[] = {
#define FORM(mnemonic, semantics, ...) std::string_view(#semantics) == "OrderGroup",
#include "ptx/table/matrix.inc"
#undef FORM
};

// The rows of wgmma.fence, commit_group and wait_group are neighbours.
constexpr unsigned row_of_commit() {
    unsigned row = 0;
    while (!orders_group[row]) ++row;
    return row + 1;
}
static_assert(orders_group[row_of_commit()] && orders_group[row_of_commit() + 1]);

}  // namespace

void MatrixDecoder::decode(const ptx::Instruction& i) {
    const ptx::Form& form = i.form.form();
    MatrixOperation op;
    op.form = ptx::matrix_form(i.form, i.modifiers);
    DecodedOp code;
    code.line = i.line;
    code.flags = flag::strong;
    std::vector<std::int64_t> immediates;
    MatrixOperation::Scales scales;
    const auto registers = [&](const ptx::Operand& o, Matrix of) {
        const ptx::Type type = fragment_of(op.form, of).type;
        std::vector<std::int32_t> at;
        for (unsigned n = 0; n < o.count; ++n) {
            const ptx::Operand& e = functions_.current().operands[o.index + n];
            at.push_back(of == Matrix::d && op.form.kind != MatrixKind::StoreWhole
                             ? operands_.destination(e)
                             : operands_.source(e, type));
        }
        return at;
    };
    if (op.form.kind == MatrixKind::OrderGroup) {
        // Only wgmma.wait_group has an operand, the number of groups that may be pending.
        if (form.operands.count != 0) {
            DecodedOp& code = code_.emit(matrix_control.wait_group);
            code.flags = flag::strong;
            code.imm = functions_.operand(i, 0).value;
        } else if (i.form.row() == row_of_commit()) {
            code_.emit(matrix_control.commit_group);
        }
        return;
    }
    const bool loads = op.form.kind == MatrixKind::LoadWhole;
    for (unsigned n = 0; n < form.operands.count; ++n) {
        const ptx::Operand& o = functions_.operand(i, n);
        switch (form.operands.list[n]) {
            case OperandConstraint::fd:
                op.d = registers(o, Matrix::d);
                break;
            case OperandConstraint::fa:
            case OperandConstraint::fb:
            case OperandConstraint::fc:
                if (loads)
                    op.d = registers(o, Matrix::d);
                else if (form.operands.list[n] == OperandConstraint::fa)
                    op.a = registers(o, Matrix::a);
                else if (form.operands.list[n] == OperandConstraint::fb)
                    op.b = registers(o, Matrix::b);
                else
                    op.c = registers(o, Matrix::c);
                break;
            case OperandConstraint::m: {
                const ptx::Space asked =
                    static_cast<ptx::Space>(ptx::field::space.get(i.modifiers));
                op.space = addresses_.place_address(o, asked, code);
                if (op.space != asked) code_.fail(i.line, "a matrix cannot be in local memory");
                op.offset = code.imm;
                code.slot = code_.take_slots();
                break;
            }
            case OperandConstraint::d32:
                op.d = {operands_.destination(o)};
                break;
            case OperandConstraint::w:
                (op.form.kind == MatrixKind::TransposeMatrix ? op.a.emplace_back()
                 : op.form.sparse                            ? op.metadata
                                                             : op.stride) =
                    operands_.source(functions_.element(o, 0), ptx::Type::b32);
                break;
            case OperandConstraint::sd:
                scales.words = operands_.source(functions_.element(o, 0), ptx::Type::b32);
                break;
            case OperandConstraint::sa:
            case OperandConstraint::sb: {
                const ptx::Operand* parts = &functions_.current().operands[o.index];
                scales.byte = operands_.source(parts[0], ptx::Type::u16);
                scales.lanes = operands_.source(parts[1], ptx::Type::u16);
                (form.operands.list[n] == OperandConstraint::sa ? op.scales_a : op.scales_b) =
                    scales;
                break;
            }
            case OperandConstraint::md:
                (n == 1 ? op.descriptor_a : op.descriptor_b) = operands_.source(o, ptx::Type::b64);
                break;
            case OperandConstraint::np:
                op.add = operands_.predicate(o);
                break;
            case OperandConstraint::imm:
                immediates.push_back(o.value);
                break;
            default:
                code_.fail(i.line, "the instruction has an unsupported operand");
        }
    }
    take_immediates(op, immediates);
    switch (op.form.kind) {
        case MatrixKind::Multiply:
        case MatrixKind::MultiplyWhole:
            code.run = matrix_control.multiply;
            op.layout = layout(i);
            break;
        case MatrixKind::LoadWhole:
            code.run = matrix_control.load_whole;
            op.whole = std::make_shared<const WholeLayout>(whole_layout_of(op.form));
            break;
        case MatrixKind::StoreWhole:
            code.run = matrix_control.store_whole;
            op.whole = std::make_shared<const WholeLayout>(whole_layout_of(op.form));
            break;
        case MatrixKind::LoadRows:
            code.run = matrix_control.load_rows;
            break;
        case MatrixKind::StoreRows:
            code.run = matrix_control.store_rows;
            break;
        case MatrixKind::TransposeMatrix:
            code.run = matrix_control.transpose;
            break;
        case MatrixKind::MultiplyGroup:
            code.run = matrix_control.multiply_group;
            op.layout = layout(i);
            break;
        case MatrixKind::MultiplyColumns:
        case MatrixKind::OrderGroup:
            break;
    }
    code.imm = static_cast<std::int64_t>(code_.kernel().matrices.size());
    code_.kernel().matrices.push_back(std::move(op));
    code_.append(code);
}

// Immediates: a sparsity selector; for wgmma the scales of the factors and their transposition.
void MatrixDecoder::take_immediates(MatrixOperation& op, const std::vector<std::int64_t>& given) {
    const std::size_t skip = op.form.sparse ? 1 : 0;
    if (op.form.sparse) {
        const std::int64_t most = max_selector(op.form);
        if (given[0] < 0 || given[0] > most)
            code_.fail(code_.line(),
                       "the sparsity selector of this form must be 0 to " + std::to_string(most));
        op.selector = static_cast<unsigned>(given[0]);
    }
    if (given.size() <= skip) return;
    for (std::size_t n = skip; n < given.size(); ++n) {
        const bool scale = n < skip + 2;
        if (scale ? given[n] != 1 && given[n] != -1 : given[n] != 0 && given[n] != 1)
            code_.fail(code_.line(), scale ? "the scale of a factor must be 1 or -1"
                                           : "the transpose operand must be 0 or 1");
    }
    op.negate_a = given[skip] < 0;
    op.negate_b = given[skip + 1] < 0;
    // A in registers is not transposed.
    op.form.column_a = given.size() == skip + 4 && given[skip + 2] == 1;
    op.form.column_b = given.size() > skip + 2 && given.back() == 1;
}

std::shared_ptr<const MatrixLayout> MatrixDecoder::layout(const ptx::Instruction& i) {
    auto& known = layouts_[{i.form.value, i.modifiers}];
    if (!known) known = layout_of(ptx::matrix_form(i.form, i.modifiers));
    return known;
}

}  // namespace cupola::cpu::interpreter
