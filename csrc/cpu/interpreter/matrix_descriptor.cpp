// csrc/cpu/interpreter/matrix_descriptor.cpp - finds the elements of matrices in shared memory.
#include "cpu/interpreter/matrix_descriptor.hpp"

#include <cstring>

#include "cpu/interpreter/block.hpp"

namespace cupola::cpu::interpreter {

using ptx::Element;

// The fields that both kinds have.
MatrixDescriptor MatrixDescriptor::of(std::uint64_t bits) {
    return {(bits & 0x3fff) << 4,
            (bits >> 16 & 0x3fff) << 4,
            (bits >> 32 & 0x3fff) << 4,
            static_cast<unsigned>(bits >> 49 & 7),
            16,
            false,
            false};
}

MatrixDescriptor MatrixDescriptor::of_warpgroup(std::uint64_t bits) {
    MatrixDescriptor d = of(bits);
    const auto mode = static_cast<unsigned>(bits >> 62);
    d.width = mode == 0 ? 16 : 256u >> mode;  // 128, 64, 32 bytes
    return d;
}

MatrixDescriptor MatrixDescriptor::of_tcgen05(std::uint64_t bits) {
    MatrixDescriptor d = of(bits);
    const auto mode = static_cast<unsigned>(bits >> 61);
    d.wide_atoms = mode == 1;
    d.split = bits >> 52 & 1;
    d.width = mode == 0 ? 16 : mode == 4 ? 64 : mode == 6 ? 32 : 128;
    return d;
}

std::string MatrixDescriptor::why_invalid(std::uint64_t bits, bool across, unsigned row_bytes) {
    const auto mode = static_cast<unsigned>(bits >> 61);
    if ((bits >> 46 & 7) != 1) return "bits 46 to 48 must be 1";
    if ((bits >> 52 & 1) && (row_bytes != 48 || mode != 2 || (bits >> 49 & 7) != 0))
        return "bit 52: an absolute leading dimension needs K = 96, swizzling mode 2 and a base "
               "offset of 0";
    if ((bits >> 53 & 0xff) != 0 || (bits >> 14 & 3) != 0 || (bits >> 30 & 3) != 0)
        return "reserved bits must be 0";
    if (mode == 3 || mode == 5 || mode == 7)
        return "swizzling mode " + std::to_string(mode) + " does not exist";
    if (mode == 1 && !across) return "swizzling mode 1 needs a transposed matrix";
    return {};
}

std::uint64_t MatrixDescriptor::along_k(unsigned line, unsigned depth) const {
    const std::uint64_t behind = start % 128 + depth;
    if (split && behind >= 128)
        return swizzled(leading + line % 8 * width + line / 8 * stride + behind % 128);
    const std::uint64_t chunk = depth / 16 * (width == 16 ? leading : 16);
    return place(line % 8 * width + line / 8 * stride + chunk + depth % 16);
}

std::uint64_t MatrixDescriptor::across_k(unsigned line, unsigned k) const {
    const unsigned chunk = line / 16, chunks = width / 16;
    if (width == 16) return place(chunk * stride + k / 8 * leading + k % 8 * 16 + line % 16);
    const unsigned rows = wide_atoms ? 4 : 8;
    return place(chunk % chunks * 16 + chunk / chunks * leading + k % rows * width +
                 k / rows * stride + line % 16);
}

std::uint64_t MatrixDescriptor::swizzled(std::uint64_t at) const {
    const std::uint64_t row = (at >> 7) - base;
    if (wide_atoms) return (at ^ (row & 3) << 5) & 0x3ffff;
    return (at ^ (row & (width / 16 - 1)) << 4) & 0x3ffff;
}

SharedReader::SharedReader(const DecodedOp* ip, Warp& w, unsigned lane)
    : SharedReader(ip, w, lane, block_of(w)) {}

SharedReader::SharedReader(const DecodedOp* ip, Warp& w, unsigned lane, BlockState& block)
    : ip_(ip), w_(w), block_(block), lane_(lane) {}

std::uint64_t SharedReader::read(std::uint64_t address, unsigned bytes) {
    std::uint64_t value = 0;
    if (!fits(address, bytes, block_.shared_bytes)) {
        if (!faulted_)
            block_of(w_).fault(w_, ip_, Fault::Kind::illegal_address, lane_, "shared memory",
                               address);
        faulted_ = true;
        return 0;
    }
    if (block_.effects_are_seen())
        block_of(w_).touch(w_, ip_, lane_, block_.shared + address, bytes, observe::Touch::read);
    std::memcpy(&value, reinterpret_cast<const void*>(block_.shared + address), bytes);
    return value;
}

std::uint32_t sign_of(Element e, bool negates) {
    const bool in_byte = e == Element::e2m1 || e == Element::e2m3 || e == Element::e3m2;
    return negates ? std::uint32_t{1} << (in_byte ? 5 : bits_of(e) - 1) : 0;
}

namespace {

// How elements lie in shared memory: in pieces of whole bytes. `shift`: the bits below an element
// in its byte in tensor memory.
struct Packing {
    unsigned elements, bytes, bits, shift;
};

Packing packing_of(Element e) {
    switch (e) {
        case Element::e2m1:
            return {16, 16, 4, 2};
        case Element::e2m3:
        case Element::e3m2:
            return {16, 16, 6, 0};
        case Element::packed_e2m1:
            return {2, 1, 4, 0};
        case Element::b1:
            return {1, 4, 32, 0};
        default:
            return {1, bits_of(e) / 8, bits_of(e), 0};
    }
}

}  // namespace

void read_lines(SharedReader& memory, const MatrixDescriptor& at, Element e, bool across,
                unsigned first, unsigned lines, unsigned depth, bool of_a, std::uint32_t sign,
                std::uint32_t* out) {
    const Packing p = packing_of(e);
    const unsigned k = depth / p.bytes * p.elements;
    const auto address = [&](unsigned line, unsigned n, unsigned piece) {
        return across ? at.across_k(piece * p.bytes, n) : at.along_k(line, piece * p.bytes);
    };
    const auto element = [&](unsigned line, unsigned n) {
        const unsigned number = across ? line : n;
        if (p.elements == 1)
            return static_cast<std::uint32_t>(memory.read(address(line, n, number), p.bytes));
        const unsigned bit = number % p.elements * p.bits, bytes = (bit % 8 + p.bits + 7) / 8;
        const std::uint64_t from = address(line, n, number / p.elements) + bit / 8;
        const std::uint64_t kept = (std::uint64_t{1} << p.bits) - 1;
        return static_cast<std::uint32_t>((memory.read(from, bytes) >> bit % 8 & kept) << p.shift);
    };
    for (unsigned line = 0; line < lines; ++line)
        for (unsigned n = 0; n < k; ++n)
            out[of_a ? line * k + n : n * lines + line] = element(first + line, n) ^ sign;
}

}  // namespace cupola::cpu::interpreter
