// csrc/cpu/exec/matrix_memory.cpp - matrices between memory and the registers of a warp.
#include <cstring>

#include "cpu/exec/block.hpp"
#include "cpu/exec/matrix.hpp"

namespace cupola::cpu::exec {
namespace {

using ptx::Matrix;
using ptx::MatrixForm;

std::uint64_t address_in(const Code* ip, const MatrixOperation& op, const std::byte* r,
                         unsigned lane) {
    if (ip->flags & flag::address32) {
        std::uint32_t base;
        std::memcpy(&base, r + ip->op[4] + 4 * lane, sizeof base);
        return static_cast<std::uint32_t>(base + static_cast<std::uint32_t>(op.offset));
    }
    std::uint64_t base;
    std::memcpy(&base, r + ip->op[4] + 8 * lane, sizeof base);
    return base + static_cast<std::uint64_t>(op.offset);
}

// Makes w.address of these lanes host addresses of `bytes` that may be accessed. False: a fault has
// been noted.
bool reach(const Code* ip, Warp& w, const MatrixOperation& op, std::uint32_t who, unsigned bytes,
           bool write) {
    BlockState& b = block_of(w);
    if (op.space != ptx::Space::shared) {
        const std::uint32_t mask = w.mask;
        w.mask = who;
        const bool reached = who == 0 || b.resolve(w, ip, bytes, write);
        w.mask = mask;
        if (!reached) return false;
    }
    for (; who != 0; who &= who - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(who));
        if (op.space == ptx::Space::shared) {
            const std::uint64_t x = w.address[lane];
            const bool outside = x >= b.shared_bytes || b.shared_bytes - x < bytes;
            if (outside || (x & (bytes - 1)) != 0) {
                b.fault(w, ip,
                        outside ? Fault::Kind::illegal_address : Fault::Kind::misaligned_address,
                        lane, "shared memory", x);
                return false;
            }
            w.address[lane] = x + b.shared;
        }
        b.touch(w, ip, lane, w.address[lane], bytes,
                write ? watch::Touch::write : watch::Touch::read);
    }
    return true;
}

// Lanes 8 * n to 8 * n + 7 name the rows of matrix n.
bool reach_rows(const Code* ip, Warp& w, const std::byte* r, const MatrixOperation& op,
                bool write) {
    const unsigned named = 8 * op.form.matrices;
    const std::uint32_t who = w.mask & (named == 32 ? all_lanes : (1u << named) - 1);
    for (std::uint32_t m = who; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        w.address[lane] = address_in(ip, op, r, lane);
    }
    return reach(ip, w, op, who, 16, write);
}

struct Pair {
    unsigned row, column;
};
// Which element of an 8 x 8 matrix is the n-th of a lane's two.
Pair pair_of(const MatrixForm& form, unsigned lane, unsigned n) {
    const Pair plain{lane / 4, lane % 4 * 2 + n};
    return form.transposed ? Pair{plain.column, plain.row} : plain;
}

std::uint64_t load_bits(std::uint64_t address, unsigned bytes) {
    switch (bytes) {
        case 1:
            return __atomic_load_n(reinterpret_cast<const std::uint8_t*>(address),
                                   __ATOMIC_RELAXED);
        case 2:
            return __atomic_load_n(reinterpret_cast<const std::uint16_t*>(address),
                                   __ATOMIC_RELAXED);
        case 4:
            return __atomic_load_n(reinterpret_cast<const std::uint32_t*>(address),
                                   __ATOMIC_RELAXED);
        default:
            return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(address),
                                   __ATOMIC_RELAXED);
    }
}

void store_bits(std::uint64_t address, unsigned bytes, std::uint64_t value) {
    switch (bytes) {
        case 2:
            __atomic_store_n(reinterpret_cast<std::uint16_t*>(address),
                             static_cast<std::uint16_t>(value), __ATOMIC_RELAXED);
            break;
        case 4:
            __atomic_store_n(reinterpret_cast<std::uint32_t*>(address),
                             static_cast<std::uint32_t>(value), __ATOMIC_RELAXED);
            break;
        default:
            __atomic_store_n(reinterpret_cast<std::uint64_t*>(address), value, __ATOMIC_RELAXED);
            break;
    }
}

// How a whole matrix is gone through: nibbles lie eight to a word, which a lane has whole.
struct Walk {
    unsigned bits;   // of what is accessed at once
    unsigned count;  // of such, in a lane
    unsigned pack;   // elements in one
};
Walk walk_of(const MatrixForm& form, Matrix of) {
    const unsigned bits = element_bits(form, of);
    if (bits >= 8) return {bits, held_by_lane(form, of), form.a == ptx::Element::b1 ? 32u : 1u};
    return {32, held_by_lane(form, of) * bits / 32, 32 / bits};
}

// The n-th access of every lane. False: a fault has been noted.
bool reach_elements(const Code* ip, Warp& w, const std::byte* r, const MatrixOperation& op,
                    const Walk& walk, unsigned n, bool write) {
    const MatrixForm& form = op.form;
    const Matrix of = form.which;
    const unsigned default_stride = form.column_a ? form.rows(of) : form.columns(of);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        const bool nibbles = walk.pack == 8;
        Place p = place_of(form, of, lane, nibbles ? n * walk.pack : n);
        if (walk.pack == 32) (of == Matrix::b ? p.row : p.column) *= walk.pack;
        std::uint64_t stride = default_stride;
        if (op.stride != 0) {
            std::uint32_t given;
            std::memcpy(&given, r + op.stride + 4 * lane, sizeof given);
            stride = given;
        }
        const std::uint64_t element =
            form.column_a ? p.column * stride + p.row : p.row * stride + p.column;
        w.address[lane] = address_in(ip, op, r, lane) + element * bits_of(form.element(of)) / 8;
    }
    return reach(ip, w, op, w.mask, walk.bits / 8, write);
}

}  // namespace

const Code* load_rows(const Code* ip, Warp& w, std::byte* r) {
    if (!whole_warp(w)) return wait_for_lanes(w, all_lanes, ip, ip);
    const MatrixOperation& op = matrix_operation(ip, w);
    if (!reach_rows(ip, w, r, op, false)) return stop_faulted(w);
    for (unsigned j = 0; j < op.form.matrices; ++j) {
        std::uint16_t rows[8][8] = {};
        for (unsigned i = 0; i < 8; ++i)
            if (w.mask >> (8 * j + i) & 1)
                std::memcpy(rows[i], reinterpret_cast<const void*>(w.address[8 * j + i]), 16);
        for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
            const auto lane = static_cast<unsigned>(__builtin_ctz(m));
            for (unsigned n = 0; n < 2; ++n) {
                const Pair h = pair_of(op.form, lane, n);
                write_element(r, op.d, lane, 2 * j + n, 16, rows[h.row][h.column]);
            }
        }
    }
    return ip + 1;
}

const Code* store_rows(const Code* ip, Warp& w, std::byte* r) {
    if (!whole_warp(w)) return wait_for_lanes(w, all_lanes, ip, ip);
    const MatrixOperation& op = matrix_operation(ip, w);
    if (!reach_rows(ip, w, r, op, true)) return stop_faulted(w);
    for (unsigned j = 0; j < op.form.matrices; ++j) {
        std::uint16_t rows[8][8];
        for (unsigned lane = 0; lane < lanes; ++lane)
            for (unsigned n = 0; n < 2; ++n) {
                const Pair h = pair_of(op.form, lane, n);
                rows[h.row][h.column] =
                    static_cast<std::uint16_t>(read_element(r, op.a, lane, 2 * j + n, 16));
            }
        for (unsigned i = 0; i < 8; ++i)
            if (w.mask >> (8 * j + i) & 1)
                std::memcpy(reinterpret_cast<void*>(w.address[8 * j + i]), rows[i], 16);
    }
    return ip + 1;
}

const Code* load_whole(const Code* ip, Warp& w, std::byte* r) {
    if (!whole_warp(w)) return wait_for_lanes(w, all_lanes, ip, ip);
    const MatrixOperation& op = matrix_operation(ip, w);
    const Walk walk = walk_of(op.form, op.form.which);
    // The address may lie in a register that is loaded: all is read before any is written.
    std::uint64_t read[16][lanes];
    for (unsigned n = 0; n < walk.count; ++n) {
        if (!reach_elements(ip, w, r, op, walk, n, false)) return stop_faulted(w);
        for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
            const auto lane = static_cast<unsigned>(__builtin_ctz(m));
            read[n][lane] = load_bits(w.address[lane], walk.bits / 8);
        }
    }
    for (unsigned n = 0; n < walk.count; ++n)
        for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
            const auto lane = static_cast<unsigned>(__builtin_ctz(m));
            write_element(r, op.d, lane, n, walk.bits, read[n][lane]);
        }
    return ip + 1;
}

const Code* store_whole(const Code* ip, Warp& w, std::byte* r) {
    if (!whole_warp(w)) return wait_for_lanes(w, all_lanes, ip, ip);
    const MatrixOperation& op = matrix_operation(ip, w);
    const Walk walk = walk_of(op.form, op.form.which);
    for (unsigned n = 0; n < walk.count; ++n) {
        if (!reach_elements(ip, w, r, op, walk, n, true)) return stop_faulted(w);
        for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
            const auto lane = static_cast<unsigned>(__builtin_ctz(m));
            store_bits(w.address[lane], walk.bits / 8, read_element(r, op.d, lane, n, walk.bits));
        }
    }
    return ip + 1;
}

}  // namespace cupola::cpu::exec
