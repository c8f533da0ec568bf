// csrc/cpu/interpreter/tensor_copy.cpp - tcgen05.cp: copies rows of shared memory to lanes of
// tensor memory. tcgen05.shift: moves rows of tensor memory.
#include <string>
#include <vector>

#include "cpu/interpreter/block.hpp"
#include "cpu/interpreter/matrix_descriptor.hpp"

namespace cupola::cpu::interpreter {
namespace {

using ptx::CopyFormat;
using ptx::CopyShape;
using ptx::Element;

constexpr unsigned warp_lanes = 32;

struct CopiedRows {
    unsigned count, bytes, copies;
};

CopiedRows rows_of(CopyShape shape) {
    switch (shape) {
        case CopyShape::s128x256b:
            return {128, 32, 1};
        case CopyShape::s4x256b:
            return {4, 32, 1};
        case CopyShape::s128x128b:
            return {128, 16, 1};
        case CopyShape::s64x128b_02_13:
        case CopyShape::s64x128b_01_23:
            return {64, 16, 2};
        case CopyShape::s32x128b:
            return {32, 16, 4};
    }
    return {0, 0, 0};
}

// The lane of a row's n-th copy.
unsigned lane_of(CopyShape shape, unsigned row, unsigned n) {
    switch (shape) {
        case CopyShape::s4x256b:
            return row * warp_lanes;
        case CopyShape::s64x128b_02_13:
            return row + n * 64;
        case CopyShape::s64x128b_01_23:
            return row / warp_lanes * 64 + row % warp_lanes + n * warp_lanes;
        case CopyShape::s32x128b:
            return row + n * warp_lanes;
        default:
            return row;
    }
}

// An element type whose elements lie in shared memory as the format says, and in a byte after the
// copy.
Element element_of(CopyFormat format) {
    return format == CopyFormat::b4   ? Element::e2m1
           : format == CopyFormat::b6 ? Element::e2m3
                                      : Element::u8;
}

std::string why_not_copy(BlockState& block, const TensorCopy& op, TensorPlace to,
                         std::uint64_t from) {
    const bool any_lane = op.shape == CopyShape::s4x256b;
    if (to.lane >= (any_lane ? warp_lanes : 1))
        return "the copy must begin at lane 0" + std::string(any_lane ? " to 31" : "") +
               " of tensor memory, got lane " + std::to_string(to.lane);
    const unsigned columns = rows_of(op.shape).bytes / 4;
    if (!block.tensor_memory().owns(to.column, columns))
        return not_allocated(block, op.pair, to.column, columns);
    const std::string why = MatrixDescriptor::why_invalid(from, false, rows_of(op.shape).bytes);
    return why.empty() ? why : "descriptor of the rows: " + why;
}

// False: a fault has been noted.
bool copy_rows(const DecodedOp* ip, const Warp& w, unsigned thread_lane, BlockState& block,
               SharedReader& shared, const TensorCopy& op, TensorPlace to, std::uint64_t from) {
    const MatrixDescriptor at = MatrixDescriptor::of_tcgen05(from);
    const CopiedRows rows = rows_of(op.shape);
    std::uint32_t bytes[128 * 32];
    read_lines(shared, at, element_of(op.format), false, 0, rows.count, rows.bytes, true, 0, bytes);
    if (shared.faulted()) return false;
    for (unsigned row = 0; row < rows.count; ++row)
        for (unsigned n = 0; n < rows.copies; ++n)
            block.touch_columns(w, ip, thread_lane, to.lane + lane_of(op.shape, row, n), to.column,
                                rows.bytes / 4, observe::Touch::write);
    for (unsigned row = 0; row < rows.count; ++row)
        for (unsigned column = 0; column < rows.bytes / 4; ++column) {
            const std::uint32_t* b = &bytes[row * rows.bytes + column * 4];
            const std::uint32_t word = b[0] | b[1] << 8 | b[2] << 16 | b[3] << 24;
            for (unsigned n = 0; n < rows.copies; ++n)
                block.tensor_memory().write(to.lane + lane_of(op.shape, row, n), to.column + column,
                                            word);
        }
    return true;
}

}  // namespace

// Each block of a pair copies its own shared memory.
const DecodedOp* copy_columns(const DecodedOp* ip, Warp& w, std::byte* r) {
    BlockState& block = block_of(w);
    const TensorCopy& op = block.kernel().tensor_copies[static_cast<std::size_t>(ip->imm)];
    const std::vector<BlockState*> blocks = blocks_of_group(block, op.pair);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        const TensorPlace to(at<const std::uint32_t>(r, ip->op[1])[lane] + op.offset);
        const std::uint64_t from = at<const std::uint64_t>(r, ip->op[2])[lane];
        std::string why = blocks.empty() ? no_peer : "";
        for (BlockState* each : blocks)
            if (why.empty()) why = why_not_copy(*each, op, to, from);
        if (!why.empty()) {
            block.fault_text(w, ip, FaultKind::illegal_instruction, lane, why);
            return stop_faulted(w);
        }
        for (BlockState* each : blocks) {
            SharedReader shared(ip, w, lane, *each);
            if (!copy_rows(ip, w, lane, *each, shared, op, to, from)) return stop_faulted(w);
        }
    }
    return ip + 1;
}

namespace {

constexpr unsigned shifted_columns = 8;

std::string why_no_shift(BlockState& block, bool pair, TensorPlace at) {
    if (at.lane % warp_lanes != 0 || at.lane >= TensorMemory::lane_count)
        return "the shift must begin at lane 0, 32, 64 or 96 of tensor memory, got lane " +
               std::to_string(at.lane);
    return block.tensor_memory().owns(at.column, shifted_columns)
               ? ""
               : not_allocated(block, pair, at.column, shifted_columns);
}

}  // namespace

// Each of 31 lanes gets eight columns of the next lane. The manual does not say which way is down:
// this is the one in which tcgen05.cp.4x256b can give the last lanes of all warps new rows. Each
// block of a pair moves its own rows.
const DecodedOp* shift_rows(const DecodedOp* ip, Warp& w, std::byte* r) {
    BlockState& block = block_of(w);
    const bool pair = ip->imm >> 32 != 0;
    const std::vector<BlockState*> blocks = blocks_of_group(block, pair);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        const TensorPlace at(interpreter::at<const std::uint32_t>(r, ip->op[1])[lane] +
                             static_cast<std::uint32_t>(ip->imm));
        std::string why = blocks.empty() ? no_peer : "";
        for (BlockState* each : blocks)
            if (why.empty()) why = why_no_shift(*each, pair, at);
        if (!why.empty()) {
            block.fault_text(w, ip, FaultKind::illegal_instruction, lane, why);
            return stop_faulted(w);
        }
        for (BlockState* each : blocks)
            for (unsigned row = at.lane; row + 1 < at.lane + warp_lanes; ++row) {
                each->touch_columns(w, ip, lane, row + 1, at.column, shifted_columns,
                                    observe::Touch::read);
                each->touch_columns(w, ip, lane, row, at.column, shifted_columns,
                                    observe::Touch::write);
                for (unsigned n = 0; n < shifted_columns; ++n)
                    each->tensor_memory().move(row + 1, row, at.column + n);
            }
    }
    return ip + 1;
}

}  // namespace cupola::cpu::interpreter
