// csrc/cpu/interpreter/matrix_group.cpp - wgmma.mma_async: products of matrices in shared memory.
//
// Each of the four warps of a warpgroup has sixteen rows of D and reads only these rows of A. So
// each warp computes its part when it executes the instruction. PTX requires the memory to be ready
// then. A warp that waits for a product waits for the other warps: they read shared memory later.
#include <algorithm>
#include <cstring>

#include "cpu/interpreter/block.hpp"
#include "cpu/interpreter/matrix.hpp"
#include "cpu/interpreter/matrix_descriptor.hpp"

namespace cupola::cpu::interpreter {
namespace {

using ptx::Element;
using ptx::MatrixForm;

std::uint64_t descriptor_in(const std::byte* r, std::int32_t at, unsigned lane) {
    std::uint64_t bits;
    std::memcpy(&bits, r + at + 8 * lane, sizeof bits);
    return bits;
}

// Products of sparse or special factors.
void multiply_any(const MatrixOperation& op, const MatrixForm& form, const TileShape& shape,
                  const std::uint32_t* a, const std::uint32_t* b, bool accumulates, Warp& w,
                  std::byte* r) {
    auto& [factors, c, d] = MatrixProduct::of_thread();
    factors.chosen.clear();
    factors.a.resize(shape.rows, shape.terms);
    factors.b.resize(form.sparse ? 2 * shape.terms : shape.terms, shape.columns);
    std::copy_n(a, factors.a.bits.size(), factors.a.bits.begin());
    std::copy_n(b, factors.b.bits.size(), factors.b.bits.begin());
    if (form.sparse) choose_rows(form, op, r, factors);
    if (accumulates)
        gather(op.layout->c, op.d, r, c);
    else
        c.resize(form.m, form.n);
    multiply_matrices(form, factors, c, d);
    scatter(op.layout->d, op.d, w.mask, d, r);
}

}  // namespace

const DecodedOp* multiply_group(const DecodedOp* ip, Warp& w, std::byte* r) {
    if (!whole_warp(w)) return wait_for_lanes(w, all_lanes, ip, ip);
    const MatrixOperation& op = matrix_operation(ip, w);
    MatrixForm form = op.form;
    form.m = 16;
    const unsigned bytes = form.a == Element::b1 ? 4 : bits_of(form.a) / 8;
    const TileShape shape{form.m, form.n, 32 / bytes};
    const auto first = static_cast<unsigned>(__builtin_ctz(w.mask));
    const std::uint32_t sign = sign_of(form.a, op.negate_a);
    SharedReader memory(ip, w, first);
    const auto descriptor = [&](std::int32_t at) {
        return MatrixDescriptor::of_warpgroup(descriptor_in(r, at, first));
    };
    // For a sparse A, B has twice as many rows.
    std::uint32_t a[max_of_a], b[2 * max_of_b], sums[max_of_sums] = {};
    if (op.a.empty()) {
        read_lines(memory, descriptor(op.descriptor_a), form.a, form.column_a, w.index % 4 * 16u,
                   16, 32, true, sign, a);
    } else {
        gather(op.layout->a, op.a, r, a);
        for (unsigned n = 0; n < shape.rows * shape.terms; ++n) a[n] ^= sign;
    }
    read_lines(memory, descriptor(op.descriptor_b), form.b, form.column_b, 0, form.n,
               form.sparse ? 64 : 32, false, sign_of(form.b, op.negate_b), b);
    if (memory.faulted()) return stop_faulted(w);
    ++block_of(w).products()[w.index];
    const bool accumulates = (bits_at(r, op.add) & w.mask) != 0;
    if (!form.sparse && form.a != Element::b1) {
        if (accumulates) gather(op.layout->c, op.d, r, sums);
        if (multiply_words(form, shape, a, b, sums)) {
            scatter(op.layout->d, op.d, w.mask, sums, r);
            return ip + 1;
        }
    }
    multiply_any(op, form, shape, a, b, accumulates, w, r);
    return ip + 1;
}

// Products are complete when they are issued. The race check sees the group.
const DecodedOp* commit_group(const DecodedOp* ip, Warp&, std::byte*) { return ip + 1; }

const DecodedOp* wait_group(const DecodedOp* ip, Warp& w, std::byte*) {
    constexpr unsigned size = 4;
    if (is_guarded(ip)) return ip + 1;
    BlockState& block = block_of(w);
    const auto& products = block.products();
    const unsigned first = w.index / size * size;
    for (unsigned n = first; n < std::min(first + size, block.warp_count); ++n) {
        const bool late = static_cast<std::int32_t>(products[n] - products[w.index]) < 0;
        if (late && block.warp(n).live != 0) return end_time_slice(w, ip);
    }
    return ip + 1;
}

}  // namespace cupola::cpu::interpreter
