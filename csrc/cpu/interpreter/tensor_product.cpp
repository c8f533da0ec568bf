// csrc/cpu/interpreter/tensor_product.cpp - tcgen05.mma: products of matrices in shared and tensor
// memory.
//
// The instruction of each thread is done at once, for both blocks of a pair. Sums are rounded as
// sm_90 rounds them.
#include <algorithm>
#include <string>
#include <vector>

#include "cpu/interpreter/block.hpp"
#include "cpu/interpreter/instruction_descriptor.hpp"
#include "cpu/interpreter/matrix_descriptor.hpp"
#include "cpu/interpreter/tensor_layout.hpp"
#include "cpu/interpreter/zero_columns.hpp"

namespace cupola::cpu::interpreter {
namespace {

using ptx::Element;
using ptx::MatrixForm;

constexpr unsigned tile_rows = 16;

// Sixteen rows of A and D of a block, and the columns of D that one group of lanes has.
struct ProductTile {
    unsigned group, part, first;
};

// The product of one thread.
class Product {
  public:
    Product(const DecodedOp* ip, Warp& w, std::byte* r, unsigned lane)
        : ip_(ip),
          w_(w),
          op_(block_of(w).kernel().tensor_products[static_cast<std::size_t>(ip->imm)]),
          r_(r),
          lane_(lane),
          type_(op_.kind, word(op_.instruction)),
          d_(place(op_.d)),
          layout_{type_.m, type_.n, op_.kind.stationary, op_.kind.pair, op_.kind.sparse, d_.lane},
          adds_((bits_at(r, op_.add) >> lane & 1) != 0) {
        for (BlockState* each : blocks_of_group(block_of(w), op_.kind.pair))
            parts_.push_back({*each, SharedReader(ip, w, lane, *each)});
        if (op_.zero_columns != 0 && type_.error.empty())
            zeros_ = ZeroColumns(descriptor(op_.zero_columns), type_.m, layout_.group_columns());
    }

    // Why the product cannot be computed; empty if it can.
    std::string why_not() const;
    // False: a fault has been noted.
    bool compute();

  private:
    std::uint32_t word(std::int32_t at) const {
        return interpreter::at<std::uint32_t>(r_, at)[lane_];
    }
    std::uint64_t descriptor(std::int32_t at) const {
        return interpreter::at<std::uint64_t>(r_, at)[lane_];
    }
    TensorPlace place(const TensorAddress& a) const { return TensorPlace(word(a.at) + a.offset); }
    // Programs keep the byte of the first factor in the upper two bits, which have no effect.
    TensorPlace scale_place(const TensorAddress& a) const {
        return TensorPlace((word(a.at) + a.offset) & 0x3fffffff);
    }
    // A block that has rows of A and D, and columns of B: the only block, or a block of the pair.
    struct Part {
        BlockState& block;
        SharedReader shared;
    };
    std::string why_no_place(const char* name, TensorPlace place, unsigned columns) const;
    std::string why_no_scales() const;
    std::string why_no_metadata() const;
    std::string why_no_a() const;
    MatrixForm form() const;
    void read_a(ProductTile tile, std::uint32_t* a);
    void read_b(unsigned group, std::uint32_t* b);
    void read_scales(const Part& part, TensorPlace place, unsigned lanes, unsigned first,
                     unsigned lines, unsigned all_lines, unsigned first_byte,
                     std::vector<std::uint8_t>& to) const;
    void read_metadata(ProductTile tile, Factors& to) const;
    void read_sums(ProductTile tile, std::uint32_t* sums) const;
    void write_sums(ProductTile tile, const std::uint32_t* sums);
    void multiply_tile(const MatrixForm& form, ProductTile tile, const std::uint32_t* a,
                       const std::uint32_t* b, std::uint32_t* sums) const;
    void read_columns(unsigned first, unsigned count, std::uint32_t* b);
    bool faulted() const {
        return std::any_of(parts_.begin(), parts_.end(),
                           [](const Part& part) { return part.shared.faulted(); });
    }
    std::uint32_t cell(const Part& part, unsigned lane, unsigned column) const {
        return part.block.read_tensor_memory(w_, ip_, lane_, lane, column);
    }
    // The row of A that is multiplied for a row of D. Each block shifts its own rows.
    unsigned row_of_a(unsigned row) const {
        return op_.shifts_rows && row + 1 < layout_.rows() ? row + 1 : row;
    }
    unsigned terms() const { return type_.row_bytes * 8 / bits_of(type_.a); }  // of A
    unsigned rows_of_b() const { return op_.kind.sparse ? 2 * terms() : terms(); }
    unsigned metadata_columns() const { return bits_of(type_.a) <= 8 ? 2 : 1; }

    const DecodedOp* const ip_;
    Warp& w_;
    const TensorProduct& op_;
    std::byte* const r_;
    const unsigned lane_;
    std::vector<Part> parts_;
    const InstructionDescriptor type_;
    const TensorPlace d_;
    const TensorLayout layout_;
    const bool adds_;
    ZeroColumns zeros_;
};

std::string Product::why_no_place(const char* name, TensorPlace place, unsigned columns) const {
    const bool half = layout_.is_in_halves();
    if (place.lane != 0 && (!half || place.lane != 16))
        return std::string(name) + " must begin at lane 0" + (half ? " or 16" : "") +
               " of tensor memory, got lane " + std::to_string(place.lane);
    for (const Part& part : parts_)
        if (!part.block.tensor_memory().owns(place.column, columns))
            return std::string(name) + ": " +
                   not_allocated(part.block, op_.kind.pair, place.column, columns);
    return {};
}

std::string Product::why_no_scales() const {
    if (type_.scales == 0) return {};
    const auto columns = [&](unsigned lines, unsigned first) {
        return scale_column(lines - 1, lines, first + type_.scales - 1) + 1;
    };
    const std::string why = why_no_place("the scale factors of A", scale_place(op_.scales_a),
                                         columns(layout_.rows(), type_.first_scale_a));
    return why.empty() ? why_no_place("the scale factors of B", scale_place(op_.scales_b),
                                      columns(layout_.group_columns(), type_.first_scale_b))
                       : why;
}

std::string Product::why_no_metadata() const {
    if (!op_.kind.sparse) return {};
    const TensorPlace at = place(op_.metadata);
    if (at.column % 2 != 0)
        return "the metadata of A must begin at an even column of tensor memory, got column " +
               std::to_string(at.column);
    if (at.lane != d_.lane)
        return "the metadata and D must begin at the same lane of tensor memory";
    return why_no_place("the metadata of A", at, type_.selector + metadata_columns());
}

std::string Product::why_no_a() const {
    if (!op_.a_in_tensor_memory) {
        const std::string why =
            MatrixDescriptor::why_invalid(descriptor(op_.a.at), type_.transpose_a, type_.row_bytes);
        return why.empty() ? why : "descriptor of A: " + why;
    }
    if (type_.transpose_a)
        return "instruction descriptor: bit 15: A in tensor memory is not transposed";
    if (op_.shifts_rows && type_.m == 64)
        return "instruction descriptor: bits 24 to 28: .ashift needs M = 128, got 64";
    if (place(op_.a).lane != d_.lane) return "A and D must begin at the same lane of tensor memory";
    return why_no_place("A", place(op_.a), type_.row_bytes / 4);
}

std::string Product::why_not() const {
    if (parts_.empty()) return no_peer;
    if (!type_.error.empty()) return "instruction descriptor: " + type_.error;
    if (!zeros_.error.empty()) return "zero-column mask descriptor: " + zeros_.error;
    if (std::string why = why_no_place("D", d_, layout_.group_columns()); !why.empty()) return why;
    const std::string of_b =
        MatrixDescriptor::why_invalid(descriptor(op_.b), type_.transpose_b, type_.row_bytes);
    if (!of_b.empty()) return "descriptor of B: " + of_b;
    if (std::string why = why_no_scales(); !why.empty()) return why;
    if (std::string why = why_no_metadata(); !why.empty()) return why;
    return why_no_a();
}

MatrixForm Product::form() const {
    MatrixForm form{};
    form.kind = ptx::MatrixKind::MultiplyColumns;
    form.m = tile_rows;
    form.n = layout_.group_columns();
    form.k = terms();
    form.a = type_.a;
    form.b = type_.b;
    form.c = form.d = type_.d;
    form.saturate = type_.saturate;
    form.sparse = op_.kind.sparse;
    form.scales = type_.scales;
    form.scale_e4m3 = type_.scale_e4m3;
    form.halvings = op_.halvings;
    return form;
}

void Product::read_a(ProductTile tile, std::uint32_t* a) {
    Part& part = parts_[tile.part];
    const std::uint32_t sign = sign_of(type_.a, type_.negate_a);
    if (!op_.a_in_tensor_memory)
        return read_lines(part.shared, MatrixDescriptor::of_tcgen05(descriptor(op_.a.at)), type_.a,
                          type_.transpose_a, tile.first, tile_rows, type_.row_bytes, true, sign, a);
    const unsigned bits = bits_of(type_.a), each = 32 / bits;
    for (unsigned row = 0; row < tile_rows; ++row) {
        const unsigned lane = layout_.lane_of_a(row_of_a(tile.first + row), tile.group);
        for (unsigned n = 0; n < terms(); ++n) {
            const std::uint32_t packed = cell(part, lane, place(op_.a).column + n / each);
            const std::uint32_t element = packed >> n % each * bits;
            a[row * terms() + n] = (bits == 32 ? element : element & ((1u << bits) - 1)) ^ sign;
        }
    }
}

// Each block of a pair has half of the columns.
void Product::read_columns(unsigned first, unsigned count, std::uint32_t* b) {
    const MatrixDescriptor at = MatrixDescriptor::of_tcgen05(descriptor(op_.b));
    const unsigned bytes = op_.kind.sparse ? 2 * type_.row_bytes : type_.row_bytes;
    const std::uint32_t sign = sign_of(type_.b, type_.negate_b);
    const unsigned each = type_.n / static_cast<unsigned>(parts_.size());
    const unsigned of_one = std::min(each, count);
    const auto read = [&](unsigned column, std::uint32_t* to) {
        const unsigned n = op_.kind.pair ? column / each : 0;
        read_lines(parts_[n].shared, at, type_.b, type_.transpose_b, column - n * each, of_one,
                   bytes, false, sign, to);
    };
    if (of_one == count) return read(first, b);
    thread_local std::vector<std::uint32_t> part;
    part.resize(std::size_t{rows_of_b()} * of_one);
    for (unsigned n = 0; n < count; n += of_one) {
        read(first + n, part.data());
        for (unsigned k = 0; k < rows_of_b(); ++k)
            std::copy_n(&part[std::size_t{k} * of_one], of_one, b + k * count + n);
    }
}

// The columns of B for the columns of D that a group of lanes has.
void Product::read_b(unsigned group, std::uint32_t* b) {
    const unsigned columns = layout_.group_columns(), first = group * columns;
    if (op_.zero_columns == 0) return read_columns(first, columns, b);
    std::vector<std::uint32_t> line(rows_of_b());
    for (unsigned n = 0; n < columns; ++n) {
        if (zeros_.contains(first + n))
            std::fill(line.begin(), line.end(), 0);
        else
            read_columns(first + n + zeros_.shift(), 1, line.data());
        for (unsigned k = 0; k < line.size(); ++k) b[k * columns + n] = line[k];
    }
}

// `lanes`: the first of the 32 lanes that have the factors. Each warp's lanes have those of all
// rows of A that the block has, and of the columns of B that the warp's lanes of D have.
void Product::read_scales(const Part& part, TensorPlace place, unsigned lanes, unsigned first,
                          unsigned lines, unsigned all_lines, unsigned first_byte,
                          std::vector<std::uint8_t>& to) const {
    to.clear();
    for (unsigned line = first; line < first + lines; ++line)
        for (unsigned n = first_byte; n < first_byte + type_.scales; ++n)
            to.push_back(static_cast<std::uint8_t>(
                cell(part, lanes + line % 32, place.column + scale_column(line, all_lines, n)) >>
                n % 4 * 8));
}

void Product::read_metadata(ProductTile tile, Factors& to) const {
    const unsigned chunk = sparse_chunk(type_.a), chunks = rows_of_b() / chunk;
    to.chosen.resize(std::size_t{tile_rows} * terms());
    for (unsigned row = 0; row < tile_rows; ++row)
        for (unsigned c = 0; c < chunks; ++c) {
            const TensorMetadata at =
                metadata_of(layout_, type_, row_of_a(tile.first + row), c, tile.group);
            const std::uint32_t bits =
                cell(parts_[tile.part], at.lane, place(op_.metadata).column + at.column);
            choose_chunk(type_.a, bits >> at.bit, c * chunk,
                         &to.chosen[std::size_t{row} * terms() + c * chunk / 2]);
        }
}

// An f16 D has the low half of a column.
void Product::read_sums(ProductTile tile, std::uint32_t* sums) const {
    const std::uint32_t kept = type_.d == Element::f16 ? 0xffff : ~0u;
    const unsigned columns = layout_.group_columns();
    for (unsigned row = 0; row < tile_rows; ++row)
        for (unsigned n = 0; n < columns; ++n)
            sums[row * columns + n] =
                cell(parts_[tile.part], layout_.lane(tile.first + row, tile.group), d_.column + n) &
                kept;
}

void Product::write_sums(ProductTile tile, const std::uint32_t* sums) {
    const unsigned columns = layout_.group_columns();
    TensorMemory& memory = parts_[tile.part].block.tensor_memory();
    for (unsigned row = 0; row < tile_rows; ++row) {
        const unsigned lane = layout_.lane(tile.first + row, tile.group);
        if (op_.masked && (word(op_.mask[tile.part * 4 + lane / 32]) >> lane % 32 & 1) != 0)
            continue;
        parts_[tile.part].block.touch_columns(w_, ip_, lane_, lane, d_.column, columns,
                                              observe::Touch::write);
        for (unsigned n = 0; n < columns; ++n)
            memory.write(lane, d_.column + n, sums[row * columns + n]);
    }
}

// Factors whose product has no function of the host's instruction set.
void Product::multiply_tile(const MatrixForm& form, ProductTile tile, const std::uint32_t* a,
                            const std::uint32_t* b, std::uint32_t* sums) const {
    auto& [factors, c, d] = MatrixProduct::of_thread();
    factors.chosen.clear();
    factors.a.resize(form.m, form.k);
    factors.b.resize(rows_of_b(), form.n);
    c.resize(form.m, form.n);
    std::copy_n(a, factors.a.bits.size(), factors.a.bits.begin());
    std::copy_n(b, factors.b.bits.size(), factors.b.bits.begin());
    std::copy_n(sums, c.bits.size(), c.bits.begin());
    if (form.sparse) read_metadata(tile, factors);
    if (form.scales != 0) {
        const unsigned lanes = layout_.lane(tile.first, tile.group) / 32 * 32;
        read_scales(parts_[tile.part], scale_place(op_.scales_a), lanes, tile.first, form.m,
                    layout_.rows(), type_.first_scale_a, factors.scales_a);
        read_scales(parts_[tile.part], scale_place(op_.scales_b), lanes, 0, form.n, form.n,
                    type_.first_scale_b, factors.scales_b);
    }
    multiply_matrices(form, factors, c, d);
    for (std::size_t n = 0; n < d.bits.size(); ++n) sums[n] = static_cast<std::uint32_t>(d.bits[n]);
}

bool Product::compute() {
    const MatrixForm form = this->form();
    const TileShape shape{form.m, form.n, form.k};
    const bool plain = !form.sparse && form.scales == 0;
    thread_local std::vector<std::uint32_t> a, b, factor, sums;
    a.resize(std::size_t{shape.rows} * shape.terms);
    b.resize(std::size_t{rows_of_b()} * shape.columns);
    sums.resize(std::size_t{shape.rows} * shape.columns);
    for (ProductTile tile{}; tile.group < layout_.groups(); ++tile.group) {
        read_b(tile.group, b.data());
        for (tile.part = 0; tile.part < parts_.size(); ++tile.part)
            for (tile.first = 0; tile.first < layout_.rows(); tile.first += tile_rows) {
                read_a(tile, a.data());
                if (faulted()) return false;
                std::fill(sums.begin(), sums.end(), 0);
                if (adds_) read_sums(tile, sums.data());
                factor = b;  // a product of integers changes it
                if (!plain || !multiply_words(form, shape, a.data(), factor.data(), sums.data()))
                    multiply_tile(form, tile, a.data(), b.data(), sums.data());
                write_sums(tile, sums.data());
            }
    }
    return true;
}

}  // namespace

const DecodedOp* multiply_columns(const DecodedOp* ip, Warp& w, std::byte* r) {
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        Product product(ip, w, r, lane);
        if (const std::string why = product.why_not(); !why.empty()) {
            block_of(w).fault_text(w, ip, FaultKind::illegal_instruction, lane, why);
            return stop_faulted(w);
        }
        if (!product.compute()) return stop_faulted(w);
    }
    return ip + 1;
}

}  // namespace cupola::cpu::interpreter
