// csrc/cpu/interpreter/matrix.cpp - decodes matrix instructions; handlers of those on registers.
#include "cpu/interpreter/matrix.hpp"

#include <cstring>

#include "cpu/interpreter/block.hpp"
#include "cpu/interpreter/decode.hpp"

namespace cupola::cpu::interpreter {

using ptx::Matrix;
using ptx::MatrixForm;
using ptx::MatrixKind;
using ptx::OperandConstraint;

void Decoder::matrix(const ptx::Instruction& i) {
    const ptx::Form& form = i.form.form();
    MatrixOperation op;
    op.form = ptx::matrix_form(i.form, i.modifiers);
    DecodedOp code;
    code.line = i.line;
    code.flags = flag::strong;
    std::vector<std::int64_t> immediates;
    const auto registers = [&](const ptx::Operand& o, Matrix of) {
        const ptx::Type type = fragment_of(op.form, of).type;
        std::vector<std::int32_t> at;
        for (unsigned n = 0; n < o.count; ++n) {
            const ptx::Operand& e = f_->operands[o.index + n];
            at.push_back(of == Matrix::d && op.form.kind != MatrixKind::StoreWhole
                             ? destination(e)
                             : source(e, type));
        }
        return at;
    };
    if (op.form.kind == MatrixKind::OrderGroup) return;  // no operation is pending
    const bool loads = op.form.kind == MatrixKind::LoadWhole;
    for (unsigned n = 0; n < form.operands.count; ++n) {
        const ptx::Operand& o = operand(i, n);
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
                op.space = place_address(o, asked, code);
                if (op.space != asked) fail(i.line, "a matrix cannot be in local memory");
                op.offset = code.imm;
                code.slot = kernel_->slots++;
                break;
            }
            case OperandConstraint::d32:
                op.d = {destination(o)};
                break;
            case OperandConstraint::w:
                (op.form.kind == MatrixKind::TransposeMatrix ? op.a.emplace_back()
                 : op.form.sparse                            ? op.metadata
                                  : op.stride) = source(o, ptx::Type::b32);
                break;
            case OperandConstraint::md:
                (n == 1 ? op.descriptor_a : op.descriptor_b) = source(o, ptx::Type::b64);
                break;
            case OperandConstraint::np:
                op.add = predicate(o);
                break;
            case OperandConstraint::imm:
                immediates.push_back(o.value);
                break;
            default:
                fail(i.line, "the instruction has an unsupported operand");
        }
    }
    take_immediates(op, immediates);
    switch (op.form.kind) {
        case MatrixKind::Multiply:
        case MatrixKind::MultiplyWhole:
            code.run = matrix_control.multiply;
            op.layout = matrix_layout(i);
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
            op.layout = matrix_layout(i);
            break;
        case MatrixKind::OrderGroup:
            break;
    }
    code.imm = static_cast<std::int64_t>(kernel_->matrices.size());
    kernel_->matrices.push_back(std::move(op));
    kernel_->code.push_back(code);
}

// Immediates: a sparsity selector; for wgmma the scales of the factors and their transposition.
void Decoder::take_immediates(MatrixOperation& op, const std::vector<std::int64_t>& given) {
    const std::size_t skip = op.form.sparse ? 1 : 0;
    if (op.form.sparse) {
        const std::int64_t most = max_selector(op.form);
        if (given[0] < 0 || given[0] > most)
            fail(line_, "the sparsity selector of this form must be 0 to " + std::to_string(most));
        op.selector = static_cast<unsigned>(given[0]);
    }
    if (given.size() <= skip) return;
    for (std::size_t n = skip; n < given.size(); ++n) {
        const bool scale = n < skip + 2;
        if (scale ? given[n] != 1 && given[n] != -1 : given[n] != 0 && given[n] != 1)
            fail(line_, scale ? "the scale of a factor must be 1 or -1"
                              : "the transpose operand must be 0 or 1");
    }
    op.negate_a = given[skip] < 0;
    op.negate_b = given[skip + 1] < 0;
    // A in registers is not transposed.
    op.form.column_a = given.size() == skip + 4 && given[skip + 2] == 1;
    op.form.column_b = given.size() > skip + 2 && given.back() == 1;
}

std::shared_ptr<const MatrixLayout> Decoder::matrix_layout(const ptx::Instruction& i) {
    auto& known = matrix_layouts_[{i.form.value, i.modifiers}];
    if (!known) known = layout_of(ptx::matrix_form(i.form, i.modifiers));
    return known;
}

const MatrixOperation& matrix_operation(const DecodedOp* ip, Warp& w) {
    return block_of(w).kernel().matrices[static_cast<std::size_t>(ip->imm)];
}

bool whole_warp(Warp& w) {
    if ((w.live & ~w.mask) == 0) return true;
    if (!w.lenient) return false;
    w.lenient = false;
    return true;
}

// A chunk of A's row stores two elements (s4 and u4: two pairs; tf32: one element). It has four
// bits of metadata.
void choose_rows(const MatrixForm& form, const MatrixOperation& op, const std::byte* r,
                 Factors& f) {
    const bool pairs = bits_of(form.a) == 4, single = bits_of(form.a) == 32;
    const unsigned chunk = pairs ? 8 : single ? 2 : 4, chunks = form.k / chunk;
    f.chosen.resize(std::size_t{form.m} * f.a.columns);
    for (unsigned row = 0; row < form.m; ++row)
        for (unsigned c = 0; c < chunks; ++c) {
            const MetadataPlace at = metadata_place(form, op.selector, row, c);
            std::uint32_t word;
            std::memcpy(&word, r + op.metadata + 4 * at.lane, sizeof word);
            const std::uint32_t nibble = word >> at.bit & 15;
            const std::uint32_t first = nibble & 3, second = nibble >> 2;
            std::uint16_t* to = &f.chosen[std::size_t{row} * f.a.columns + c * chunk / 2];
            const auto set = [&](unsigned n, std::uint32_t index) {
                to[n] = static_cast<std::uint16_t>(c * chunk + index);
            };
            if (single) {
                set(0, first >> 1);
            } else if (pairs) {
                for (unsigned n = 0; n < 4; ++n) set(n, 2 * (n < 2 ? first : second) + (n & 1));
            } else {
                set(0, first);
                set(1, second);
            }
        }
}

namespace {

// False: nothing is done.
template <class Word>
bool multiply_tile(const MatrixOperation& op, std::uint32_t mask, std::byte* r) {
    const MatrixLayout& layout = *op.layout;
    const TileShape shape{layout.c.rows, layout.c.columns, layout.a.columns};
    Word a[max_of_a], b[max_of_a], sums[max_of_a];
    gather(layout.a, op.a, r, a);
    gather(layout.b, op.b, r, b);
    gather(layout.c, op.c, r, sums);
    if (!multiply_words(op.form, shape, a, b, sums)) return false;
    scatter(layout.d, op.d, mask, sums, r);
    return true;
}

[[gnu::noinline]] const DecodedOp* multiply(const DecodedOp* ip, Warp& w, std::byte* r) {
    if (!whole_warp(w)) return wait_for_lanes(w, all_lanes, ip, ip);
    const MatrixOperation& op = matrix_operation(ip, w);
    if (!op.form.sparse && !op.form.quads() &&
        (op.layout->a.bits == 64 ? multiply_tile<std::uint64_t>(op, w.mask, r)
                                 : multiply_tile<std::uint32_t>(op, w.mask, r)))
        return ip + 1;
    auto& [factors, c, d] = MatrixProduct::of_thread();
    factors.chosen.clear();
    gather(op.layout->a, op.a, r, factors.a);
    gather(op.layout->b, op.b, r, factors.b);
    gather(op.layout->c, op.c, r, c);
    if (op.form.sparse) choose_rows(op.form, op, r, factors);
    multiply_matrices(op.form, factors, c, d);
    scatter(op.layout->d, op.d, w.mask, d, r);
    return ip + 1;
}

// Lane 4 * i + t holds elements 2 * t and 2 * t + 1 of row i.
[[gnu::noinline]] const DecodedOp* transpose(const DecodedOp* ip, Warp& w, std::byte* r) {
    if (!whole_warp(w)) return wait_for_lanes(w, all_lanes, ip, ip);
    const MatrixOperation& op = matrix_operation(ip, w);
    std::uint16_t rows[8][8];
    for (unsigned lane = 0; lane < lanes; ++lane)
        for (unsigned n = 0; n < 2; ++n)
            rows[lane / 4][lane % 4 * 2 + n] =
                static_cast<std::uint16_t>(read_element(r, op.a, lane, n, 16));
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        for (unsigned n = 0; n < 2; ++n)
            write_element(r, op.d, lane, n, 16, rows[lane % 4 * 2 + n][lane / 4]);
    }
    return ip + 1;
}

}  // namespace

const MatrixControl matrix_control{
    &threaded<&multiply>,       &threaded<&load_rows>,  &threaded<&store_rows>,
    &threaded<&transpose>,      &threaded<&load_whole>, &threaded<&store_whole>,
    &threaded<&multiply_group>,
};

}  // namespace cupola::cpu::interpreter
