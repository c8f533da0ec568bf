// csrc/cpu/interpreter/matrix_group.cpp - wgmma.mma_async: products of matrices in shared memory.
//
// Each of the four warps of a warpgroup has sixteen rows of D and reads only these rows of A. So
// each warp computes its part when it executes the instruction. PTX requires the memory to be ready
// then.
#include <algorithm>
#include <cstring>

#include "cpu/interpreter/block.hpp"
#include "cpu/interpreter/matrix.hpp"

namespace cupola::cpu::interpreter {
namespace {

using ptx::Element;
using ptx::MatrixForm;

// A matrix descriptor: addresses and strides in units of 16 bytes, and the swizzle mode.
struct Descriptor {
    explicit Descriptor(std::uint64_t bits)
        : start((bits & 0x3fff) << 4),
          leading((bits >> 16 & 0x3fff) << 4),
          stride((bits >> 32 & 0x3fff) << 4),
          base(static_cast<unsigned>(bits >> 49 & 7)) {
        const auto mode = static_cast<unsigned>(bits >> 62);
        width = mode == 0 ? 16 : 256u >> mode;  // 128, 64, 32 bytes
    }
    std::uint64_t start, leading, stride;
    unsigned base, width;

    // The address of the byte at `depth` bytes along k in row (or column) `line`.
    std::uint64_t along_k(unsigned line, unsigned depth) const {
        const std::uint64_t chunk = depth / 16 * (width == 16 ? leading : 16);
        return place(line % 8 * width + line / 8 * stride + chunk + depth % 16);
    }
    // As above, where k is the outer dimension: `line` is in bytes, `k` in elements.
    std::uint64_t across_k(unsigned line, unsigned k) const {
        const unsigned chunk = line / 16, chunks = width / 16;
        if (width == 16) return place(chunk * stride + k / 8 * leading + k % 8 * 16 + line % 16);
        return place(chunk % chunks * 16 + chunk / chunks * leading + k % 8 * width +
                     k / 8 * stride + line % 16);
    }

  private:
    std::uint64_t place(std::uint64_t offset) const {
        const std::uint64_t at = start + offset;
        const std::uint64_t row = (at >> 7) - base;
        return (at ^ (row & (width / 16 - 1)) << 4) & 0x3ffff;
    }
};

// Reads shared memory, and notes the first access out of bounds as a fault.
class SharedReader {
  public:
    SharedReader(const DecodedOp* ip, Warp& w) : ip_(ip), w_(w), block_(*w.block) {}

    std::uint64_t read(std::uint64_t address, unsigned bytes) {
        std::uint64_t value = 0;
        if (!fits(address, bytes, block_.shared_bytes)) {
            if (!faulted_)
                block_.fault(w_, ip_, Fault::Kind::illegal_address,
                             static_cast<unsigned>(__builtin_ctz(w_.mask)), "shared memory",
                             address);
            faulted_ = true;
            return 0;
        }
        std::memcpy(&value, reinterpret_cast<const void*>(block_.shared + address), bytes);
        return value;
    }
    bool faulted() const { return faulted_; }

  private:
    const DecodedOp* ip_;
    Warp& w_;
    Block& block_;
    bool faulted_ = false;
};

std::uint32_t sign_of(Element e, bool negates) {
    return negates ? std::uint32_t{1} << (bits_of(e) - 1) : 0;
}

// Reads `lines` rows of A from `first`, or columns of B, of `depth` bytes along k. `sign`: bits
// that are inverted. The elements of either matrix are stored row by row.
void read_lines(SharedReader& memory, const Descriptor& at, Element e, bool across, unsigned first,
                unsigned lines, unsigned depth, bool of_a, std::uint32_t sign, std::uint32_t* out) {
    const unsigned bytes = e == Element::b1 ? 4 : bits_of(e) / 8, k = depth / bytes;
    for (unsigned line = 0; line < lines; ++line)
        for (unsigned n = 0; n < k; ++n) {
            const std::uint64_t from = across ? at.across_k((first + line) * bytes, n)
                                              : at.along_k(first + line, n * bytes);
            out[of_a ? line * k + n : n * lines + line] =
                static_cast<std::uint32_t>(memory.read(from, bytes)) ^ sign;
        }
}

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
    SharedReader memory(ip, w);
    // For a sparse A, B has twice as many rows.
    std::uint32_t a[max_of_a], b[2 * max_of_b], sums[max_of_sums] = {};
    if (op.a.empty()) {
        read_lines(memory, Descriptor(descriptor_in(r, op.descriptor_a, first)), form.a,
                   form.column_a, w.index % 4 * 16u, 16, 32, true, sign, a);
    } else {
        gather(op.layout->a, op.a, r, a);
        for (unsigned n = 0; n < shape.rows * shape.terms; ++n) a[n] ^= sign;
    }
    read_lines(memory, Descriptor(descriptor_in(r, op.descriptor_b, first)), form.b, form.column_b,
               0, form.n, form.sparse ? 64 : 32, false, sign_of(form.b, op.negate_b), b);
    if (memory.faulted()) return stop_faulted(w);
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

}  // namespace cupola::cpu::interpreter
