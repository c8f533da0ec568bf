// csrc/cpu/interpreter/tensor_product.cpp - tcgen05.mma: products of matrices in shared and tensor
// memory.
//
// The instruction of each thread is done at once. Sums are rounded as sm_90 rounds them.
#include <algorithm>
#include <string>

#include "cpu/interpreter/block.hpp"
#include "cpu/interpreter/instruction_descriptor.hpp"
#include "cpu/interpreter/matrix_descriptor.hpp"

namespace cupola::cpu::interpreter {
namespace {

using ptx::Element;
using ptx::MatrixForm;

constexpr unsigned row_bytes = 32;  // of A, and of a column of B
constexpr unsigned row_columns = row_bytes / 4;
constexpr unsigned tile_rows = 16;

// The product of one thread.
class Product {
  public:
    Product(const DecodedOp* ip, Warp& w, std::byte* r, unsigned lane)
        : ip_(ip),
          w_(w),
          op_(block_of(w).kernel().tensor_products[static_cast<std::size_t>(ip->imm)]),
          r_(r),
          lane_(lane),
          block_(block_of(w)),
          shared_(ip, w, lane),
          type_(op_.kind, word(op_.instruction)),
          d_(word(op_.d) + op_.offset_d),
          adds_((bits_at(r, op_.add) >> lane & 1) != 0) {}

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
    TensorPlace a_place() const { return TensorPlace(word(op_.a) + op_.offset_a); }
    std::string why_no_place(const char* name, TensorPlace place, unsigned columns) const;
    MatrixForm form() const;
    void read_a(unsigned first, std::uint32_t* a);
    void read_sums(unsigned first, std::uint32_t* sums) const;
    void write_sums(unsigned first, const std::uint32_t* sums);
    // The lane of a row of A and D.
    unsigned lane_of(unsigned row) const {
        return type_.m == 128 ? row : d_.lane + row / tile_rows * 32 + row % tile_rows;
    }
    std::uint32_t cell(unsigned lane, unsigned column) const {
        return block_.read_tensor_memory(w_, ip_, lane_, lane, column);
    }
    unsigned terms() const { return row_bytes * 8 / bits_of(type_.a); }

    const DecodedOp* const ip_;
    const Warp& w_;
    const TensorProduct& op_;
    std::byte* const r_;
    const unsigned lane_;
    BlockState& block_;
    SharedReader shared_;
    const InstructionDescriptor type_;
    const TensorPlace d_;
    const bool adds_;
};

std::string Product::why_no_place(const char* name, TensorPlace place, unsigned columns) const {
    if (place.lane != 0 && (type_.m == 128 || place.lane != 16))
        return std::string(name) + " must begin at lane 0" + (type_.m == 64 ? " or 16" : "") +
               " of tensor memory, got lane " + std::to_string(place.lane);
    if (!block_.tensor_memory().owns(place.column, columns))
        return std::string(name) + ": the block has not allocated " +
               columns_text(place.column, columns);
    return {};
}

std::string Product::why_not() const {
    if (!type_.error.empty()) return "instruction descriptor: " + type_.error;
    if (std::string why = why_no_place("D", d_, type_.n); !why.empty()) return why;
    const std::string of_b = MatrixDescriptor::why_invalid(descriptor(op_.b), type_.transpose_b);
    if (!of_b.empty()) return "descriptor of B: " + of_b;
    if (!op_.a_in_tensor_memory) {
        const std::string of_a =
            MatrixDescriptor::why_invalid(descriptor(op_.a), type_.transpose_a);
        return of_a.empty() ? of_a : "descriptor of A: " + of_a;
    }
    if (type_.transpose_a)
        return "instruction descriptor: bit 15: A in tensor memory is not transposed";
    if (a_place().lane != d_.lane) return "A and D must begin at the same lane of tensor memory";
    return why_no_place("A", a_place(), row_columns);
}

MatrixForm Product::form() const {
    MatrixForm form{};
    form.kind = ptx::MatrixKind::MultiplyColumns;
    form.m = tile_rows;
    form.n = type_.n;
    form.k = terms();
    form.a = type_.a;
    form.b = type_.b;
    form.c = form.d = type_.d;
    form.saturate = type_.saturate;
    return form;
}

void Product::read_a(unsigned first, std::uint32_t* a) {
    const std::uint32_t sign = sign_of(type_.a, type_.negate_a);
    if (!op_.a_in_tensor_memory)
        return read_lines(shared_, MatrixDescriptor::of_tcgen05(descriptor(op_.a)), type_.a,
                          type_.transpose_a, first, tile_rows, row_bytes, true, sign, a);
    const unsigned bits = bits_of(type_.a), each = 32 / bits;
    for (unsigned row = 0; row < tile_rows; ++row)
        for (unsigned n = 0; n < terms(); ++n) {
            const std::uint32_t packed = cell(lane_of(first + row), a_place().column + n / each);
            const std::uint32_t element = packed >> n % each * bits;
            a[row * terms() + n] = (bits == 32 ? element : element & ((1u << bits) - 1)) ^ sign;
        }
}

// An f16 D has the low half of a column.
void Product::read_sums(unsigned first, std::uint32_t* sums) const {
    const std::uint32_t kept = type_.d == Element::f16 ? 0xffff : ~0u;
    for (unsigned row = 0; row < tile_rows; ++row)
        for (unsigned n = 0; n < type_.n; ++n)
            sums[row * type_.n + n] = cell(lane_of(first + row), d_.column + n) & kept;
}

void Product::write_sums(unsigned first, const std::uint32_t* sums) {
    for (unsigned row = 0; row < tile_rows; ++row) {
        const unsigned lane = lane_of(first + row);
        if (op_.masked && (word(op_.mask[lane / 32]) >> lane % 32 & 1) != 0) continue;
        for (unsigned n = 0; n < type_.n; ++n)
            block_.tensor_memory().write(lane, d_.column + n, sums[row * type_.n + n]);
    }
}

// Factors whose product has no function of the host's instruction set.
void multiply_elements(const MatrixForm& form, const TileShape& shape, const std::uint32_t* a,
                       const std::uint32_t* b, std::uint32_t* sums) {
    auto& [factors, c, d] = MatrixProduct::of_thread();
    factors.chosen.clear();
    factors.a.resize(shape.rows, shape.terms);
    factors.b.resize(shape.terms, shape.columns);
    c.resize(shape.rows, shape.columns);
    std::copy_n(a, factors.a.bits.size(), factors.a.bits.begin());
    std::copy_n(b, factors.b.bits.size(), factors.b.bits.begin());
    std::copy_n(sums, c.bits.size(), c.bits.begin());
    multiply_matrices(form, factors, c, d);
    for (std::size_t n = 0; n < d.bits.size(); ++n) sums[n] = static_cast<std::uint32_t>(d.bits[n]);
}

bool Product::compute() {
    const MatrixForm form = this->form();
    const TileShape shape{tile_rows, type_.n, terms()};
    std::uint32_t a[max_of_a], b[max_of_b], sums[max_of_sums];
    read_lines(shared_, MatrixDescriptor::of_tcgen05(descriptor(op_.b)), type_.b, type_.transpose_b,
               0, type_.n, row_bytes, false, sign_of(type_.b, type_.negate_b), b);
    for (unsigned first = 0; first < type_.m; first += tile_rows) {
        read_a(first, a);
        if (shared_.faulted()) return false;
        std::fill_n(sums, tile_rows * type_.n, 0);
        if (adds_) read_sums(first, sums);
        std::uint32_t factor[max_of_b];  // a product of integers changes it
        std::copy_n(b, shape.terms * shape.columns, factor);
        if (!multiply_words(form, shape, a, factor, sums))
            multiply_elements(form, shape, a, b, sums);
        write_sums(first, sums);
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
