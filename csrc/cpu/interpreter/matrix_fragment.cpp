// csrc/cpu/interpreter/matrix_fragment.cpp - maps elements of a matrix to lanes and registers.
#include <algorithm>
#include <cstring>

#include "cpu/interpreter/matrix.hpp"

namespace cupola::cpu::interpreter {
namespace {

using ptx::Element;
using ptx::Matrix;
using ptx::MatrixForm;
using ptx::MatrixKind;

// A group of four lanes shares a row of A (or a column of B). Lane by lane, each takes the elements
// of one register; then all take the next register.
Place place_in_tile(Matrix of, unsigned rows, unsigned per, unsigned lane, unsigned n) {
    const unsigned group = lane >> 2, t = lane & 3;
    const unsigned reg = n / per, sub = n % per;
    switch (of) {
        case Matrix::a: {
            const unsigned halves = rows / 8;
            return {group + 8 * (reg % halves), (reg / halves * 4 + t) * per + sub};
        }
        case Matrix::b:
            return {(reg * 4 + t) * per + sub, group};
        default:
            return {group + 8 * (n >> 1), 2 * t + (n & 1)};
    }
}

// m8n8k4 of f16: a product uses four lanes of the lower and four of the upper half.
Place place_in_quad(const MatrixForm& form, Matrix of, unsigned lane, unsigned n) {
    const unsigned upper = lane < 16 ? 0 : 4, own = (lane & 3) + upper;
    switch (of) {
        case Matrix::a:
            return form.column_a ? Place{n + upper, lane & 3} : Place{own, n};
        case Matrix::b:
            return form.column_b ? Place{n, own} : Place{lane & 3, n + upper};
        default:
            break;
    }
    if (form.element(of) == Element::f16) return {own, n};
    return {upper + (lane & 1) + (n & 2), (n & 4) + (lane & 2) + (n & 1)};
}

// Larger tiles consist of 16 x 8 (or 8 x 8) tiles: tall ones for A, narrow ones for B, in order. A
// larger fragment holds elements again. m8n32k16 is the transpose of m32n8k16.
Place place_in_whole(const MatrixForm& form, Matrix of, unsigned lane, unsigned n) {
    const unsigned bits = element_bits(form, of), per = bits >= 32 ? 1 : 32 / bits;
    const unsigned k = form.k / (form.a == Element::b1 ? 32 : 1);
    const bool turned = form.n == 32;
    const unsigned m = turned ? form.n : form.m, columns = turned ? form.m : form.n;
    const unsigned tall = m < 16 ? m : 16, down = m / tall;
    if (turned) of = of == Matrix::a ? Matrix::b : of == Matrix::b ? Matrix::a : of;
    Place p;
    if (of == Matrix::a) {
        const unsigned each = tall * k / lanes;
        p = place_in_tile(of, tall, per, lane, n % each);
        p.row += n / each % down * 16;
    } else if (of == Matrix::b) {
        const unsigned each = 8 * k / lanes;
        p = place_in_tile(of, 8, per, lane, n % each);
        p.column += n / each % (columns / 8) * 8;
    } else {
        const unsigned each = tall * 8 / lanes, tile = n / each;
        p = place_in_tile(of, tall, per, lane, n % each);
        p.row += tile % down * 16;
        p.column += tile / down * 8;
    }
    return turned ? Place{p.column, p.row} : p;
}

}  // namespace

unsigned element_bits(const MatrixForm& form, Matrix of) {
    const Element e = form.element(of);
    return e == Element::b1 ? 32 : bits_of(e);
}

unsigned held_by_lane(const MatrixForm& form, Matrix of) {
    const ptx::Fragment f = fragment_of(form, of);
    return f.registers * 8 * bytes_of(f.type) / element_bits(form, of);
}

Place place_of(const MatrixForm& form, Matrix of, unsigned lane, unsigned n) {
    if (form.quads()) return place_in_quad(form, of, lane, n);
    if (form.kind == MatrixKind::MultiplyGroup && of == Matrix::d) {
        const Place p = place_in_tile(of, 16, 1, lane, n % 4);
        return {p.row, p.column + n / 4 * 8};
    }
    if (form.kind == MatrixKind::MultiplyWhole || form.kind == MatrixKind::LoadWhole ||
        form.kind == MatrixKind::StoreWhole)
        return place_in_whole(form, of, lane, n);
    const unsigned bits = element_bits(form, of);
    return place_in_tile(of, form.m, bits >= 32 ? 1 : 32 / bits, lane, n);
}

namespace {
// The number of chunks of a row. A chunk stores two elements that are not zero, or two pairs of
// elements.
unsigned chunks_of(const MatrixForm& form) {
    const unsigned bits = bits_of(form.a), chunk = bits == 4 ? 8 : bits == 32 ? 2 : 4;
    return form.k / chunk;
}
}  // namespace

unsigned max_selector(const MatrixForm& form) {
    const unsigned chunks = chunks_of(form);
    return chunks <= 4 ? 3 : chunks == 8 ? 1 : 0;
}

MetadataPlace metadata_place(const MatrixForm& form, unsigned selector, unsigned row, unsigned n) {
    const unsigned lane = row % 8 * 4, upper = row / 8;
    const unsigned bits = bits_of(form.a), chunks = chunks_of(form);
    if (chunks == 4) return {lane + selector, 16 * upper + 4 * n};
    const bool halves = bits >= 16;  // half words, for the row and the row eight below
    if (chunks == 8 && halves) return {lane + 2 * selector + n / 4, 16 * upper + 4 * (n % 4)};
    if (chunks == 8) return {lane + 2 * selector + upper, 4 * n};
    return {lane + upper + 2 * (n / 8), 4 * (n % 8)};
}

std::uint64_t read_element(const std::byte* r, const std::vector<std::int32_t>& registers,
                           unsigned lane, unsigned n, unsigned bits) {
    if (bits == 64) {
        std::uint64_t value;
        std::memcpy(&value, r + registers[n] + 8 * lane, sizeof value);
        return value;
    }
    const unsigned per = 32 / bits;
    std::uint32_t word;
    std::memcpy(&word, r + registers[n / per] + 4 * lane, sizeof word);
    return word >> n % per * bits & (0xffffffffu >> (32 - bits));
}

void write_element(std::byte* r, const std::vector<std::int32_t>& registers, unsigned lane,
                   unsigned n, unsigned bits, std::uint64_t value) {
    if (bits == 64) {
        std::memcpy(r + registers[n] + 8 * lane, &value, sizeof value);
        return;
    }
    const unsigned per = 32 / bits, shift = n % per * bits;
    std::byte* at = r + registers[n / per] + 4 * lane;
    const std::uint32_t mask = (0xffffffffu >> (32 - bits)) << shift;
    std::uint32_t word;
    std::memcpy(&word, at, sizeof word);
    word = (word & ~mask) | (static_cast<std::uint32_t>(value << shift) & mask);
    std::memcpy(at, &word, sizeof word);
}

namespace {

MatrixLayout::Part part_of(MatrixForm form, Matrix of) {
    const bool group = form.kind == MatrixKind::MultiplyGroup;
    if (group) form.m = 16;  // of one warp
    MatrixLayout::Part part;
    const unsigned pack = form.element(of) == Element::b1 ? 32 : 1;
    part.rows = form.rows(of) / (of == Matrix::b ? pack : 1);
    part.columns = form.columns(of) / (of == Matrix::a ? pack : 1);
    if (form.sparse && of == Matrix::a) part.columns /= 2;
    if (group && of == Matrix::b) return part;  // never in registers
    part.count = held_by_lane(form, of);
    part.bits = element_bits(form, of);
    const unsigned each = part.rows;
    if (form.quads()) part.rows *= 4;
    part.at.resize(std::size_t{part.count} * lanes);
    for (unsigned n = 0; n < part.count; ++n)
        for (unsigned lane = 0; lane < lanes; ++lane) {
            const Place p = place_of(form, of, lane, n);
            const unsigned product = form.quads() ? lane >> 2 & 3 : 0;
            part.at[n * lanes + lane] =
                static_cast<std::uint16_t>((product * each + p.row) * part.columns + p.column);
        }
    // Where a fragment has room, it holds all elements twice.
    const unsigned needed = part.rows * part.columns / lanes;
    if (part.bits < 64 && part.count > needed)
        part.repeated = (part.count - needed) * part.bits / 32;
    return part;
}

}  // namespace

std::shared_ptr<const MatrixLayout> layout_of(const MatrixForm& form) {
    auto layout = std::make_shared<MatrixLayout>();
    layout->a = part_of(form, Matrix::a);
    layout->b = part_of(form, Matrix::b);
    layout->d = part_of(form, Matrix::d);
    layout->c = form.kind == MatrixKind::MultiplyGroup ? layout->d : part_of(form, Matrix::c);
    return layout;
}

WholeLayout whole_layout_of(const MatrixForm& form) {
    const Matrix of = form.which;
    const unsigned bits = element_bits(form, of), held = held_by_lane(form, of);
    WholeLayout layout;
    layout.bits = bits < 8 ? 32 : bits;
    layout.count = held * bits / layout.bits;
    for (unsigned n = 0; n < layout.count; ++n)
        for (unsigned lane = 0; lane < lanes; ++lane) {
            Place p = place_of(form, of, lane, n * (layout.bits / bits));
            if (form.a == Element::b1) (of == Matrix::b ? p.row : p.column) *= 32;
            layout.row.push_back(static_cast<std::uint16_t>(p.row));
            layout.column.push_back(static_cast<std::uint16_t>(p.column));
            layout.last_row = std::max(layout.last_row, p.row);
            layout.last_column = std::max(layout.last_column, p.column);
        }
    const unsigned per = layout.bits < 32 ? 32 / layout.bits : 1;
    const unsigned elements = form.rows(of) * form.columns(of) / (form.a == Element::b1 ? 32 : 1);
    layout.distinct =
        std::min(layout.count / per, elements * bits / (std::max(layout.bits, 32u) * lanes));
    return layout;
}

void gather(const MatrixLayout::Part& part, const std::vector<std::int32_t>& registers,
            const std::byte* r, Elements& out) {
    out.resize(part.rows, part.columns);
    const std::uint16_t* at = part.at.data();
    if (part.bits == 64) {
        for (const std::int32_t from : registers)
            for (unsigned lane = 0; lane < lanes; ++lane)
                std::memcpy(&out.bits[*at++], r + from + 8 * lane, 8);
        return;
    }
    const std::uint32_t mask = 0xffffffffu >> (32 - part.bits);
    for (const std::int32_t from : registers) {
        std::uint32_t words[lanes];
        std::memcpy(words, r + from, sizeof words);
        for (unsigned shift = 0; shift < 32; shift += part.bits)
            for (unsigned lane = 0; lane < lanes; ++lane)
                out.bits[*at++] = words[lane] >> shift & mask;
    }
}

void scatter(const MatrixLayout::Part& part, const std::vector<std::int32_t>& registers,
             std::uint32_t mask, const Elements& d, std::byte* r) {
    const std::uint16_t* at = part.at.data();
    for (const std::int32_t to : registers) {
        std::uint64_t words[lanes] = {};
        for (unsigned shift = 0; shift < (part.bits == 64 ? 64 : 32); shift += part.bits)
            for (std::uint64_t& word : words) word |= d.bits[*at++] << shift;
        const unsigned bytes = part.bits == 64 ? 8 : 4;
        for (std::uint32_t m = mask; m != 0; m &= m - 1) {
            const auto lane = static_cast<unsigned>(__builtin_ctz(m));
            std::memcpy(r + to + bytes * lane, &words[lane], bytes);
        }
    }
}

void gather(const MatrixLayout::Part& part, const std::vector<std::int32_t>& registers,
            const std::byte* r, std::uint32_t* out) {
    const std::uint16_t* at = part.at.data() + part.repeated * lanes * (32 / part.bits);
    const std::uint32_t mask = 0xffffffffu >> (32 - part.bits);
    for (std::size_t n = part.repeated; n < registers.size(); ++n) {
        std::uint32_t words[lanes];
        std::memcpy(words, r + registers[n], sizeof words);
        for (unsigned shift = 0; shift < 32; shift += part.bits)
            for (unsigned lane = 0; lane < lanes; ++lane) out[*at++] = words[lane] >> shift & mask;
    }
}

void gather(const MatrixLayout::Part& part, const std::vector<std::int32_t>& registers,
            const std::byte* r, std::uint64_t* out) {
    const std::uint16_t* at = part.at.data();
    for (const std::int32_t from : registers) {
        std::uint64_t words[lanes];
        std::memcpy(words, r + from, sizeof words);
        for (const std::uint64_t word : words) out[*at++] = word;
    }
}

void scatter(const MatrixLayout::Part& part, const std::vector<std::int32_t>& registers,
             std::uint32_t mask, const std::uint64_t* d, std::byte* r) {
    const std::uint16_t* at = part.at.data();
    for (const std::int32_t to : registers)
        for (unsigned lane = 0; lane < lanes; ++lane, ++at)
            if (mask >> lane & 1) std::memcpy(r + to + 8 * lane, &d[*at], 8);
}

void scatter(const MatrixLayout::Part& part, const std::vector<std::int32_t>& registers,
             std::uint32_t mask, const std::uint32_t* d, std::byte* r) {
    const std::uint16_t* at = part.at.data();
    for (const std::int32_t to : registers) {
        std::uint32_t words[lanes] = {};
        for (unsigned shift = 0; shift < 32; shift += part.bits)
            for (std::uint32_t& word : words) word |= d[*at++] << shift;
        if (mask == all_lanes) {
            std::memcpy(r + to, words, sizeof words);
            continue;
        }
        for (std::uint32_t m = mask; m != 0; m &= m - 1) {
            const auto lane = static_cast<unsigned>(__builtin_ctz(m));
            std::memcpy(r + to + 4 * lane, &words[lane], 4);
        }
    }
}

}  // namespace cupola::cpu::interpreter
