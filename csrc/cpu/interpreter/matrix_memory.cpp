// csrc/cpu/interpreter/matrix_memory.cpp - moves matrices between memory and a warp's registers.
#include <cstring>
#include <type_traits>

#include "cpu/interpreter/block.hpp"
#include "cpu/interpreter/matrix.hpp"

namespace cupola::cpu::interpreter {
namespace {

using ptx::MatrixForm;

std::uint64_t address_in(const DecodedOp* ip, const MatrixOperation& op, const std::byte* r,
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

// Converts w.address of the lanes `who` to host addresses, and checks access to `bytes` bytes, the
// first `used` of which are read or written. False: a fault has been noted.
bool reach(const DecodedOp* ip, Warp& w, const MatrixOperation& op, std::uint32_t who,
           unsigned bytes, unsigned used, bool write) {
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
            const std::uint64_t x = b.shared_offset(w.address[lane]);
            const bool outside = !fits(x, bytes, b.shared_bytes);
            if (outside || (x & (bytes - 1)) != 0) {
                b.fault(w, ip,
                        outside ? Fault::Kind::illegal_address : Fault::Kind::misaligned_address,
                        lane, "shared memory", x);
                return false;
            }
            w.address[lane] = x + b.shared;
        }
        b.touch(w, ip, lane, w.address[lane], used,
                write ? observe::Touch::write : observe::Touch::read);
    }
    return true;
}

unsigned rows_of(const MatrixForm& form) { return 8 * registers_of_rows(form); }

// Bytes of a row in memory that have elements; the others are padding.
unsigned used_bytes(ptx::Stored stored) {
    return stored == ptx::Stored::b6 ? 12 : stored == ptx::Stored::b4 ? 8 : 16;
}

// With R rows in a matrix, lanes R * n to R * n + R - 1 hold the addresses of the rows of matrix n.
bool reach_rows(const DecodedOp* ip, Warp& w, const std::byte* r, const MatrixOperation& op,
                bool write) {
    const unsigned named = rows_of(op.form) * op.form.matrices;
    const std::uint32_t who = w.mask & (named == 32 ? all_lanes : (1u << named) - 1);
    for (std::uint32_t m = who; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        w.address[lane] = address_in(ip, op, r, lane);
    }
    return reach(ip, w, op, who, 16, used_bytes(op.form.stored), write);
}

// A matrix of ldmatrix or stmatrix: rows of 16 bytes.
using Rows = std::uint8_t[16][16];

// Reads a row; elements of 6 and 4 bits get the lower bits of a byte each.
void load_row(ptx::Stored stored, std::uint64_t address, std::uint8_t* to) {
    const auto* const from = reinterpret_cast<const std::uint8_t*>(address);
    const unsigned used = used_bytes(stored), bits = used / 2;
    if (used == 16) {
        std::memcpy(to, from, 16);
        return;
    }
    std::uint8_t elements[17] = {};
    std::memcpy(elements, from, used);
    for (unsigned n = 0; n < 16; ++n) {
        const unsigned at = n * bits;
        const unsigned two = elements[at / 8] | elements[at / 8 + 1] << 8;
        to[n] = static_cast<std::uint8_t>(two >> at % 8 & ((1u << bits) - 1));
    }
}

template <std::size_t Count>
using Bytes = std::integral_constant<std::size_t, Count>;

// A register of all lanes.
using Words = std::uint8_t[lanes][4];

// Calls copy(part of a register, part of a row, bytes) for all parts of register q of a matrix.
// Without transposition, the lanes have the bytes in the order of memory.
template <class Copy>
void copy_parts(const MatrixForm& form, Rows& rows, unsigned q, Words& words, const Copy& copy) {
    if (!form.transposed) return copy(words[0], rows[0], Bytes<sizeof(Words)>());
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const unsigned group = lane / 4, t = lane % 4;
        std::uint8_t* const word = words[lane];
        if (form.stored == ptx::Stored::b16) {
            copy(word, &rows[2 * t][2 * group], Bytes<2>());
            copy(word + 2, &rows[2 * t + 1][2 * group], Bytes<2>());
        } else if (form.n == 16) {
            for (unsigned n = 0; n < 4; ++n)
                copy(word + n, &rows[4 * t + n][group + 8 * q], Bytes<1>());
        } else {
            for (unsigned n = 0; n < 4; ++n)
                copy(word + n, &rows[2 * t + n % 2][group + 8 * (n / 2)], Bytes<1>());
        }
    }
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

std::uint32_t stride_in(const MatrixOperation& op, const std::byte* r, unsigned lane) {
    const MatrixForm& form = op.form;
    if (op.stride == 0) return form.column_a ? form.rows(form.which) : form.columns(form.which);
    std::uint32_t stride;
    std::memcpy(&stride, r + op.stride + 4 * lane, sizeof stride);
    return stride;
}

std::uint64_t bits_to(const MatrixForm& form, std::uint64_t stride, unsigned row, unsigned column) {
    const std::uint64_t element = form.column_a ? column * stride + row : row * stride + column;
    return element * bits_of(form.element(form.which));
}

// Checks the n-th access of every lane. False: a fault has been noted.
bool reach_elements(const DecodedOp* ip, Warp& w, const std::byte* r, const MatrixOperation& op,
                    unsigned n, bool write) {
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        const unsigned at = n * lanes + lane;
        w.address[lane] =
            address_in(ip, op, r, lane) +
            bits_to(op.form, stride_in(op, r, lane), op.whole->row[at], op.whole->column[at]) / 8;
    }
    const unsigned bytes = op.whole->bits / 8;
    return reach(ip, w, op, w.mask, bytes, bytes, write);
}

// Whether all lanes have the same value, of `bytes` bytes.
bool is_uniform(const std::byte* values, unsigned bytes) {
    return std::memcmp(values, values + bytes, (lanes - 1) * bytes) == 0;
}

// Where a matrix lies and where its elements do from there on, if all lanes name one address and
// one stride, as the manual demands, and it lies where the last one was found. Else null.
std::byte* find_whole(const DecodedOp* ip, Warp& w, const std::byte* r, const MatrixOperation& op,
                      bool write, std::uint32_t* offsets) {
    const BlockState& b = block_of(w);
    const WholeLayout& layout = *op.whole;
    const bool shared = op.space == ptx::Space::shared;
    const std::uint64_t named = address_in(ip, op, r, 0), stride = stride_in(op, r, 0);
    const std::uint64_t base = shared ? b.shared_offset(named) : named;
    const unsigned bytes = layout.bits / 8;
    const std::uint64_t row = bits_to(op.form, stride, 1, 0),
                        column = bits_to(op.form, stride, 0, 1);
    const std::uint64_t line = (op.form.column_a ? column : row) / 8;
    const std::uint64_t end = (layout.last_row * row + layout.last_column * column) / 8 + bytes;
    if (w.mask != all_lanes || b.effects_are_seen() || ((base | line) & (bytes - 1)) != 0 ||
        end >> 28 != 0)
        return nullptr;
    const unsigned address_bytes = ip->flags & flag::address32 ? 4 : 8;
    if (!is_uniform(r + ip->op[4], address_bytes) ||
        (op.stride != 0 && !is_uniform(r + op.stride, 4)))
        return nullptr;
    const Range range =
        shared ? Range{0, b.shared_bytes, true} : b.ranges[static_cast<unsigned>(ip->slot)];
    if (!range.allows(base, end, write)) return nullptr;
    const unsigned per = layout.bits < 32 ? 32 / layout.bits : 1;
    const unsigned count = write ? layout.count : layout.distinct * per;
    for (unsigned n = 0; n < count * lanes; ++n)
        offsets[n] = (layout.row[n] * static_cast<std::uint32_t>(row) +
                      layout.column[n] * static_cast<std::uint32_t>(column)) /
                     8;
    return reinterpret_cast<std::byte*>(base + (shared ? b.shared : 0));
}

// A lane holds up to 16 elements.
constexpr unsigned max_held = 16;

template <class T>
void load_elements(const std::byte* from, const std::uint32_t* offsets,
                   const std::vector<std::int32_t>& to, unsigned distinct, std::byte* r) {
    constexpr unsigned per = sizeof(T) < 4 ? 4 / sizeof(T) : 1;
    using Word = std::conditional_t<(sizeof(T) > 4), T, std::uint32_t>;
    for (unsigned n = 0; n < distinct; ++n) {
        Word words[lanes] = {};
        for (unsigned k = 0; k < per; ++k, offsets += lanes)
            for (unsigned lane = 0; lane < lanes; ++lane) {
                T element;
                std::memcpy(&element, from + offsets[lane], sizeof element);
                words[lane] |= static_cast<Word>(element) << (8 * sizeof(T) * k);
            }
        for (std::size_t at = n; at < to.size(); at += distinct)
            std::memcpy(r + to[at], words, sizeof words);
    }
}
template <class T>
void store_elements(std::byte* to, const std::uint32_t* offsets,
                    const std::vector<std::int32_t>& from, const std::byte* r) {
    constexpr unsigned per = sizeof(T) < 4 ? 4 / sizeof(T) : 1;
    using Word = std::conditional_t<(sizeof(T) > 4), T, std::uint32_t>;
    for (const std::int32_t at : from) {
        Word words[lanes];
        std::memcpy(words, r + at, sizeof words);
        for (unsigned k = 0; k < per; ++k, offsets += lanes)
            for (unsigned lane = 0; lane < lanes; ++lane) {
                const auto element = static_cast<T>(words[lane] >> (8 * sizeof(T) * k));
                std::memcpy(to + offsets[lane], &element, sizeof element);
            }
    }
}
// Calls `run` with an unsigned integer of `bits` bits.
template <class Run>
void with_unsigned_type(unsigned bits, const Run& run) {
    switch (bits) {
        case 8:
            return run(std::uint8_t{});
        case 16:
            return run(std::uint16_t{});
        case 32:
            return run(std::uint32_t{});
        default:
            return run(std::uint64_t{});
    }
}

}  // namespace

const DecodedOp* load_rows(const DecodedOp* ip, Warp& w, std::byte* r) {
    if (!whole_warp(w)) return wait_for_lanes(w, all_lanes, ip, ip);
    const MatrixOperation& op = matrix_operation(ip, w);
    if (!reach_rows(ip, w, r, op, false)) return stop_faulted(w);
    const unsigned count = rows_of(op.form), registers = count / 8;
    for (unsigned j = 0; j < op.form.matrices; ++j) {
        Rows rows = {};
        for (unsigned i = 0; i < count; ++i)
            if (w.mask >> (count * j + i) & 1)
                load_row(op.form.stored, w.address[count * j + i], rows[i]);
        for (unsigned q = 0; q < registers; ++q) {
            Words words;
            copy_parts(op.form, rows, q, words,
                       [](std::uint8_t* part, const std::uint8_t* row, auto bytes) {
                           std::memcpy(part, row, bytes);
                       });
            std::byte* const to = r + op.d[registers * j + q];
            if (w.mask == all_lanes) {
                std::memcpy(to, words, sizeof words);
                continue;
            }
            for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
                const auto lane = static_cast<unsigned>(__builtin_ctz(m));
                std::memcpy(to + 4 * lane, words[lane], 4);
            }
        }
    }
    return ip + 1;
}

const DecodedOp* store_rows(const DecodedOp* ip, Warp& w, std::byte* r) {
    if (!whole_warp(w)) return wait_for_lanes(w, all_lanes, ip, ip);
    const MatrixOperation& op = matrix_operation(ip, w);
    if (!reach_rows(ip, w, r, op, true)) return stop_faulted(w);
    for (unsigned j = 0; j < op.form.matrices; ++j) {
        Rows rows;
        Words words;
        std::memcpy(words, r + op.a[j], sizeof words);
        copy_parts(op.form, rows, 0, words,
                   [](const std::uint8_t* part, std::uint8_t* row, auto bytes) {
                       std::memcpy(row, part, bytes);
                   });
        for (unsigned i = 0; i < 8; ++i)
            if (w.mask >> (8 * j + i) & 1)
                std::memcpy(reinterpret_cast<void*>(w.address[8 * j + i]), rows[i], 16);
    }
    return ip + 1;
}

const DecodedOp* load_whole(const DecodedOp* ip, Warp& w, std::byte* r) {
    if (!whole_warp(w)) return wait_for_lanes(w, all_lanes, ip, ip);
    const MatrixOperation& op = matrix_operation(ip, w);
    const unsigned bits = op.whole->bits, count = op.whole->count;
    std::uint32_t offsets[max_held * lanes];
    if (const std::byte* const from = find_whole(ip, w, r, op, false, offsets)) {
        with_unsigned_type(bits, [&](auto element) {
            load_elements<decltype(element)>(from, offsets, op.d, op.whole->distinct, r);
        });
        return ip + 1;
    }
    // The address may be in a register that is loaded. So all addresses are read before any
    // register is written.
    std::uint64_t read[max_held][lanes];
    for (unsigned n = 0; n < count; ++n) {
        if (!reach_elements(ip, w, r, op, n, false)) return stop_faulted(w);
        for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
            const auto lane = static_cast<unsigned>(__builtin_ctz(m));
            read[n][lane] = load_bits(w.address[lane], bits / 8);
        }
    }
    for (unsigned n = 0; n < count; ++n)
        for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
            const auto lane = static_cast<unsigned>(__builtin_ctz(m));
            write_element(r, op.d, lane, n, bits, read[n][lane]);
        }
    return ip + 1;
}

const DecodedOp* store_whole(const DecodedOp* ip, Warp& w, std::byte* r) {
    if (!whole_warp(w)) return wait_for_lanes(w, all_lanes, ip, ip);
    const MatrixOperation& op = matrix_operation(ip, w);
    const unsigned bits = op.whole->bits;
    std::uint32_t offsets[max_held * lanes];
    if (std::byte* const to = find_whole(ip, w, r, op, true, offsets)) {
        with_unsigned_type(
            bits, [&](auto element) { store_elements<decltype(element)>(to, offsets, op.d, r); });
        return ip + 1;
    }
    for (unsigned n = 0; n < op.whole->count; ++n) {
        if (!reach_elements(ip, w, r, op, n, true)) return stop_faulted(w);
        for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
            const auto lane = static_cast<unsigned>(__builtin_ctz(m));
            store_bits(w.address[lane], bits / 8, read_element(r, op.d, lane, n, bits));
        }
    }
    return ip + 1;
}

}  // namespace cupola::cpu::interpreter
