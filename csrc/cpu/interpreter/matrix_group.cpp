// csrc/cpu/interpreter/matrix_group.cpp - wgmma.mma_async: products of matrices in shared memory.
//
// Each of the four warps of a warpgroup has sixteen rows of D and reads only these rows of A. So
// each warp computes its part when it executes the instruction. PTX requires the memory to be ready
// then.
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
    // The same where k is the outer dimension: `line` in bytes, `k` in elements.
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
        if (address >= block_.shared_bytes || block_.shared_bytes - address < bytes) {
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

// Reads `lines` rows of A from `first`, or columns of B, of `depth` bytes along k.
void read_lines(SharedReader& memory, const Descriptor& at, Element e, bool across, unsigned first,
                unsigned lines, unsigned depth, bool of_a, Elements& out) {
    const unsigned bytes = e == Element::b1 ? 4 : bits_of(e) / 8, k = depth / bytes;
    out.resize(of_a ? lines : k, of_a ? k : lines);
    for (unsigned line = 0; line < lines; ++line)
        for (unsigned n = 0; n < k; ++n) {
            const std::uint64_t from = across ? at.across_k((first + line) * bytes, n)
                                              : at.along_k(first + line, n * bytes);
            (of_a ? out.at(line, n) : out.at(n, line)) = memory.read(from, bytes);
        }
}

void negate(Elements& all, Element e) {
    for (auto& bits : all.bits) bits ^= std::uint64_t{1} << (bits_of(e) - 1);
}

std::uint64_t descriptor_in(const std::byte* r, std::int32_t at, unsigned lane) {
    std::uint64_t bits;
    std::memcpy(&bits, r + at + 8 * lane, sizeof bits);
    return bits;
}

}  // namespace

const DecodedOp* multiply_group(const DecodedOp* ip, Warp& w, std::byte* r) {
    if (!whole_warp(w)) return wait_for_lanes(w, all_lanes, ip, ip);
    const MatrixOperation& op = matrix_operation(ip, w);
    MatrixForm form = op.form;
    form.m = 16;
    const auto first = static_cast<unsigned>(__builtin_ctz(w.mask));
    SharedReader memory(ip, w);
    Factors factors;
    if (op.a.empty())
        read_lines(memory, Descriptor(descriptor_in(r, op.descriptor_a, first)), form.a,
                   form.column_a, w.index % 4 * 16u, 16, 32, true, factors.a);
    else
        gather(op.layout->a, op.a, r, factors.a);
    read_lines(memory, Descriptor(descriptor_in(r, op.descriptor_b, first)), form.b, form.column_b,
               0, form.n, form.sparse ? 64 : 32, false, factors.b);
    if (memory.faulted()) return stop_faulted(w);
    if (form.sparse) choose_rows(form, op, r, factors);
    if (op.negate_a) negate(factors.a, form.a);
    if (op.negate_b) negate(factors.b, form.b);
    Elements c, d;
    if ((bits_at(r, op.add) & w.mask) != 0)
        gather(op.layout->c, op.d, r, c);
    else
        c.resize(form.m, form.n);
    multiply_matrices(form, factors, c, d);
    scatter(op.layout->d, op.d, w.mask, d, r);
    return ip + 1;
}

}  // namespace cupola::cpu::interpreter
