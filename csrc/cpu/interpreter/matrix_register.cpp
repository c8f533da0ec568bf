// csrc/cpu/interpreter/matrix_register.cpp - handlers of matrix instructions on registers.
#include <cstring>

#include "cpu/interpreter/block.hpp"
#include "cpu/interpreter/matrix.hpp"

namespace cupola::cpu::interpreter {

using ptx::MatrixForm;

const MatrixOperation& matrix_operation(const DecodedOp* ip, Warp& w) {
    return block_of(w).kernel().matrices[static_cast<std::size_t>(ip->imm)];
}

bool whole_warp(Warp& w) {
    if ((w.live & ~w.mask) == 0) return true;
    if (!w.lenient) return false;
    w.lenient = false;
    return true;
}

unsigned sparse_chunk(ptx::Element a) { return bits_of(a) == 4 ? 8 : bits_of(a) == 32 ? 2 : 4; }

void choose_chunk(ptx::Element a, std::uint32_t metadata, unsigned first_row, std::uint16_t* to) {
    const std::uint32_t index[] = {metadata & 3, metadata >> 2 & 3};
    const auto set = [&](unsigned n, std::uint32_t row) {
        to[n] = static_cast<std::uint16_t>(first_row + row);
    };
    switch (sparse_chunk(a)) {
        case 2:
            set(0, index[0] >> 1);
            break;
        case 8:
            for (unsigned n = 0; n < 4; ++n) set(n, 2 * index[n / 2] + (n & 1));
            break;
        default:
            set(0, index[0]);
            set(1, index[1]);
    }
}

void choose_rows(const MatrixForm& form, const MatrixOperation& op, const std::byte* r,
                 Factors& f) {
    const unsigned chunk = sparse_chunk(form.a), chunks = form.k / chunk;
    f.chosen.resize(std::size_t{form.m} * f.a.columns);
    for (unsigned row = 0; row < form.m; ++row)
        for (unsigned c = 0; c < chunks; ++c) {
            const MetadataPlace at = metadata_place(form, op.selector, row, c);
            std::uint32_t word;
            std::memcpy(&word, r + op.metadata + 4 * at.lane, sizeof word);
            choose_chunk(form.a, word >> at.bit, c * chunk,
                         &f.chosen[std::size_t{row} * f.a.columns + c * chunk / 2]);
        }
}

// Lanes 4 * i to 4 * i + 3 have the scale factors of rows i and i + 8 of A, and of column i of B.
// For A, a pair of these lanes is selected: its first lane has row i, its second one row i + 8. The
// manual demands one selection for the warp, so that of lane 0 counts.
void gather_scales(const MatrixOperation& op, const std::byte* r, Factors& f) {
    const MatrixForm& form = op.form;
    const auto selected = [&](std::int32_t at, unsigned possible) {
        std::uint16_t value;
        std::memcpy(&value, r + at, sizeof value);
        return value & possible;
    };
    const auto read = [&](const MatrixOperation::Scales& from, unsigned lane, std::uint8_t* to) {
        const unsigned byte = selected(from.byte, 4 - form.scales);
        std::memcpy(to, r + from.words + 4 * lane + byte, form.scales);
    };
    f.scales_a.resize(std::size_t{form.m} * form.scales);
    f.scales_b.resize(std::size_t{form.n} * form.scales);
    const unsigned pair = selected(op.scales_a.lanes, 1), own = selected(op.scales_b.lanes, 3);
    for (unsigned row = 0; row < form.m; ++row)
        read(op.scales_a, row % 8 * 4 + 2 * pair + row / 8,
             &f.scales_a[std::size_t{row} * form.scales]);
    for (unsigned column = 0; column < form.n; ++column)
        read(op.scales_b, column * 4 + own, &f.scales_b[std::size_t{column} * form.scales]);
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
    if (op.form.scales != 0) gather_scales(op, r, factors);
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
    &threaded<&multiply_group>, &threaded<&wait_group>, &threaded<&commit_group>,
};

}  // namespace cupola::cpu::interpreter
