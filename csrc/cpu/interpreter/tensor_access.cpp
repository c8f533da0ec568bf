// csrc/cpu/interpreter/tensor_access.cpp - moves tensor memory to and from the registers of a warp.
#include <cmath>
#include <cstring>

#include "cpu/interpreter/block.hpp"

namespace cupola::cpu::interpreter {
namespace {

using ptx::TensorShape;

struct Cell {
    unsigned lane, column;  // relative to the address
};

// The place of a register of a lane, in columns of the register's own width.
Cell cell_of(TensorShape shape, unsigned lane, unsigned n) {
    switch (shape) {
        case TensorShape::s16x64b:
            return {lane / 4 + lane % 2 * 8, lane / 2 % 2 + n * 2};
        case TensorShape::s16x128b:
            return {lane / 4 + n % 2 * 8, lane % 4 + n / 2 * 4};
        case TensorShape::s16x256b:
            return {lane / 4 + n / 2 % 2 * 8, n % 2 + lane % 4 * 2 + n / 4 * 8};
        case TensorShape::s16x32bx2:
            return {lane % 16, n};
        case TensorShape::s32x32b:
            break;
    }
    return {lane, n};
}

const TensorAccess& access_of(const DecodedOp* ip, Warp& w) {
    return block_of(w).kernel().tensor_accesses[static_cast<std::size_t>(ip->imm)];
}

std::uint32_t address_of(const DecodedOp* ip, const Warp& w, std::byte* r) {
    return at<const std::uint32_t>(r, ip->op[1])[__builtin_ctz(w.mask)];
}

// A GPU uses a warp's own lanes if the address names the first 32. Kernels rely on it.
TensorPlace own_place(const DecodedOp* ip, Warp& w, std::byte* r, const TensorAccess& access) {
    TensorPlace place(address_of(ip, w, r) + access.offset);
    const unsigned first = w.index % 4 * 32;
    if (first != 0 && place.lane < 32) {
        block_of(w).notify_other_lanes(w, ip, place.lane, first);
        place.lane += first;
    }
    return place;
}

// Why the warp cannot access these places; empty if it can.
std::string why_not(const DecodedOp* ip, Warp& w, std::byte* r, const TensorAccess& access,
                    TensorPlace place) {
    if (!is_uniform(w, at<const std::uint32_t>(r, ip->op[1])))
        return "the lanes of a warp must have the same address in tensor memory";
    const unsigned first = w.index % 4 * 32, of_warp = place.lane - first;
    if (of_warp != 0 && (of_warp != 16 || access.form.lanes() != 16))
        return "the warp must access tensor memory from lane " + std::to_string(first) +
               (access.form.lanes() == 16 ? " or " + std::to_string(first + 16) : std::string()) +
               "; the address has lane " + std::to_string(place.lane);
    const unsigned count = access.form.columns();
    const bool two = access.form.shape == TensorShape::s16x32bx2;
    for (unsigned half = 0; half < (two ? 2u : 1u); ++half) {
        const unsigned column = place.column + half * access.second;
        if (!block_of(w).tensor_memory().owns(column, count))
            return not_allocated(block_of(w), false, column, count);
    }
    return {};
}

// f(register, lane, cell, column of the upper half) for each register of each active lane.
template <class F>
void each_cell(const Warp& w, const TensorAccess& access, TensorPlace place, F f) {
    const unsigned width = access.form.halves ? 2 : 1;
    const bool two = access.form.shape == TensorShape::s16x32bx2;
    for (unsigned n = 0; n < access.registers.size(); ++n)
        for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
            const auto lane = static_cast<unsigned>(__builtin_ctz(m));
            Cell cell = cell_of(access.form.shape, lane, n);
            cell.lane += place.lane;
            cell.column = place.column + cell.column * width;
            if (two && lane >= 16) cell.column += access.second;
            f(access.registers[n], lane, cell);
        }
}

float as_float(std::uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

// A NaN is left out, or is the result with .NaN. .abs reduces magnitudes.
std::uint32_t reduced_floats(const TensorAccess& access, std::uint32_t x, std::uint32_t y) {
    constexpr std::uint32_t nan = 0x7fffffff, sign = 0x80000000;
    if (access.magnitude) {
        x &= ~sign;
        y &= ~sign;
    }
    const float a = as_float(x), b = as_float(y);
    const bool first_nan = std::isnan(a), second_nan = std::isnan(b);
    if ((first_nan && second_nan) || (access.nan && (first_nan || second_nan))) return nan;
    if (first_nan || second_nan) return first_nan ? y : x;
    const bool least = access.reduction == ptx::ColumnReduction::min;
    if (a == b) return least ? x | y : x & y;  // -0 is below +0
    return (a < b) == least ? x : y;
}

std::uint32_t reduced(const TensorAccess& access, std::uint32_t x, std::uint32_t y) {
    if (access.type == ptx::Type::f32) return reduced_floats(access, x, y);
    const bool less = access.type == ptx::Type::s32
                          ? static_cast<std::int32_t>(x) < static_cast<std::int32_t>(y)
                          : x < y;
    return less == (access.reduction == ptx::ColumnReduction::min) ? x : y;
}

// tcgen05.ld.red: reduces the values that each lane has loaded.
void reduce_registers(const TensorAccess& access, const Warp& w, std::byte* r) {
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        const auto loaded = [&](std::int32_t from) { return at<std::uint32_t>(r, from)[lane]; };
        // The first value is reduced with itself, so that .abs and NaN hold for it as well.
        std::uint32_t value = loaded(access.registers[0]);
        for (const std::int32_t from : access.registers)
            value = reduced(access, value, loaded(from));
        at<std::uint32_t>(r, access.reduced)[lane] = value;
    }
}

}  // namespace

bool is_uniform(const Warp& w, const std::uint32_t* values) {
    const std::uint32_t first = values[__builtin_ctz(w.mask)];
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1)
        if (values[__builtin_ctz(m)] != first) return false;
    return true;
}

std::string not_allocated(const BlockState& block, bool pair, unsigned first, unsigned count) {
    return (pair ? "block " + std::to_string(block.rank()) + " of the cluster"
                 : std::string("the block")) +
           " has not allocated " + columns_text(first, count);
}

std::string columns_text(unsigned first, unsigned count) {
    return "columns " + std::to_string(first) + " to " + std::to_string(first + count - 1) +
           " of tensor memory";
}

const DecodedOp* load_columns(const DecodedOp* ip, Warp& w, std::byte* r) {
    if (!whole_warp(w)) return wait_for_lanes(w, all_lanes, ip, ip);
    const TensorAccess& access = access_of(ip, w);
    const TensorPlace place = own_place(ip, w, r, access);
    if (const std::string why = why_not(ip, w, r, access, place); !why.empty())
        return stop_at_fault(ip, w, FaultKind::illegal_address, why);
    each_cell(w, access, place, [&](std::int32_t to, unsigned lane, Cell from) {
        const auto read = [&](unsigned column) {
            return block_of(w).read_tensor_memory(w, ip, lane, from.lane, column);
        };
        std::uint32_t value = read(from.column);
        if (access.form.halves) value = (value & 0xffff) | read(from.column + 1) << 16;
        at<std::uint32_t>(r, to)[lane] = value;
    });
    if (access.reduction != ptx::ColumnReduction::none) reduce_registers(access, w, r);
    return ip + 1;
}

const DecodedOp* store_columns(const DecodedOp* ip, Warp& w, std::byte* r) {
    if (!whole_warp(w)) return wait_for_lanes(w, all_lanes, ip, ip);
    const TensorAccess& access = access_of(ip, w);
    const TensorPlace place = own_place(ip, w, r, access);
    if (const std::string why = why_not(ip, w, r, access, place); !why.empty())
        return stop_at_fault(ip, w, FaultKind::illegal_address, why);
    TensorMemory& memory = block_of(w).tensor_memory();
    each_cell(w, access, place, [&](std::int32_t from, unsigned lane, Cell to) {
        block_of(w).touch_columns(w, ip, lane, to.lane, to.column, access.form.halves ? 2 : 1,
                                  observe::Touch::write);
        const std::uint32_t value = at<const std::uint32_t>(r, from)[lane];
        memory.write(to.lane, to.column, access.form.halves ? value & 0xffff : value);
        if (access.form.halves) memory.write(to.lane, to.column + 1, value >> 16);
    });
    return ip + 1;
}

}  // namespace cupola::cpu::interpreter
