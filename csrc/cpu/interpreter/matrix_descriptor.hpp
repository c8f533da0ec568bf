// csrc/cpu/interpreter/matrix_descriptor.hpp - matrices in shared memory, as wgmma and tcgen05.mma
// describe them.
#pragma once

#include <cstdint>
#include <string>

#include "cpu/isa/code.hpp"
#include "ptx/matrix.hpp"

namespace cupola::cpu::interpreter {

class BlockState;

// Addresses and strides are in bytes. `width` is the width of a row of the swizzled pattern; 16:
// not swizzled.
struct MatrixDescriptor {
    std::uint64_t start, leading, stride;
    unsigned base, width;
    bool wide_atoms = false;  // swizzles pieces of 32 bytes, not of 16
    bool split = false;       // `leading` is the address of the part of a row behind 128 bytes

    static MatrixDescriptor of_warpgroup(std::uint64_t bits);
    static MatrixDescriptor of_tcgen05(std::uint64_t bits);
    // Why these bits are no descriptor of tcgen05; empty if they are. `across`: k is the outer
    // dimension. `row_bytes`: of the matrix along k.
    static std::string why_invalid(std::uint64_t bits, bool across, unsigned row_bytes);

    // The address of the byte at `depth` bytes along k in row (or column) `line`.
    std::uint64_t along_k(unsigned line, unsigned depth) const;
    // As above, where k is the outer dimension: `line` is in bytes, `k` in elements.
    std::uint64_t across_k(unsigned line, unsigned k) const;

  private:
    static MatrixDescriptor of(std::uint64_t bits);
    std::uint64_t place(std::uint64_t offset) const { return swizzled(start + offset); }
    std::uint64_t swizzled(std::uint64_t address) const;
};

// Reads shared memory, and notes the first access out of bounds as a fault.
class SharedReader {
  public:
    // The fault names the lane.
    SharedReader(const DecodedOp* ip, Warp& w, unsigned lane);
    // Reads the shared memory of another block of the cluster.
    SharedReader(const DecodedOp* ip, Warp& w, unsigned lane, BlockState& block);

    std::uint64_t read(std::uint64_t address, unsigned bytes);
    bool faulted() const { return faulted_; }

  private:
    const DecodedOp* ip_;
    Warp& w_;
    BlockState& block_;
    const unsigned lane_;
    bool faulted_ = false;
};

// The bit that negates an element.
std::uint32_t sign_of(ptx::Element e, bool negates);

// Reads `lines` rows of A from `first`, or columns of B, of `depth` bytes along k. `sign`: bits
// that are inverted. The elements of either matrix are stored row by row. 16 floats of 4 or 6 bits
// have 16 bytes, in which their bits come first; a packed e2m1 has no padding.
void read_lines(SharedReader& memory, const MatrixDescriptor& at, ptx::Element e, bool across,
                unsigned first, unsigned lines, unsigned depth, bool of_a, std::uint32_t sign,
                std::uint32_t* out);

}  // namespace cupola::cpu::interpreter
