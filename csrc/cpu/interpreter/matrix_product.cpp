// csrc/cpu/interpreter/matrix_product.cpp - matrix products of integers, bits and doubles.
//
// matrix_float.cpp has the other floats.
#include <cfenv>
#include <cmath>
#include <cstring>

#include "cpu/interpreter/host_isa.hpp"
#include "cpu/interpreter/matrix.hpp"

namespace cupola::cpu::interpreter {
namespace {

using ptx::Element;
using ptx::MatrixForm;

constexpr std::uint64_t quiet = std::uint64_t{1} << 51;

double as_double(std::uint64_t bits) {
    double x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}
std::uint64_t as_bits(double x) {
    std::uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}
bool is_nan(std::uint64_t bits) { return (bits & ~(std::uint64_t{1} << 63)) > 0x7ffull << 52; }

// NaNs: the one of B wins, then that of C, then that of A.
std::uint64_t fused(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    for (const std::uint64_t x : {b, c, a})
        if (is_nan(x)) return x | quiet;
    const std::uint64_t sum = as_bits(std::fma(as_double(a), as_double(b), as_double(c)));
    return is_nan(sum) ? 0xfff8ull << 48 : sum;
}

// Adds in the order of k. The compiler cannot move code across the calls that set the rounding.
void multiply_doubles(const MatrixForm& form, const Factors& f, const Elements& c, Elements& d) {
    const ptx::Round round = form.round;
    std::fesetround(round == ptx::Round::rz   ? FE_TOWARDZERO
                    : round == ptx::Round::rm ? FE_DOWNWARD
                    : round == ptx::Round::rp ? FE_UPWARD
                                              : FE_TONEAREST);
    for (unsigned i = 0; i < d.rows; ++i)
        for (unsigned j = 0; j < d.columns; ++j) {
            std::uint64_t sum = c.at(i, j);
            for (unsigned s = 0; s < f.a.columns; ++s) sum = fused(f.a.at(i, s), f.b.at(s, j), sum);
            d.at(i, j) = sum;
        }
    std::fesetround(FE_TONEAREST);
}

std::int32_t integer(std::uint64_t bits, Element e) {
    const unsigned width = bits_of(e);
    const bool negative = (e == Element::s8 || e == Element::s4) && (bits >> (width - 1) & 1);
    return static_cast<std::int32_t>(bits) - (negative ? 1 << width : 0);
}

// At most 128 products of less than 2^16 each.
std::int32_t dot(const std::int32_t* a, const std::int32_t* b, unsigned count) {
    std::int32_t sum = 0;
    for (unsigned s = 0; s < count; ++s) sum += a[s] * b[s];
    return sum;
}

std::uint32_t added(const MatrixForm& form, std::int64_t product, std::uint32_t c) {
    std::int64_t sum = product + static_cast<std::int32_t>(c);
    if (form.saturate) sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    return static_cast<std::uint32_t>(sum);
}

void multiply_integer_words(const MatrixForm& form, const TileShape& shape, std::uint32_t* a,
                            std::uint32_t* b, std::uint32_t* sums) {
    const auto as_integers = [](std::uint32_t* words, unsigned count, Element e) {
        for (unsigned n = 0; n < count; ++n)
            words[n] = static_cast<std::uint32_t>(integer(words[n], e));
        return reinterpret_cast<const std::int32_t*>(words);
    };
    const unsigned count = shape.rows * shape.columns;
    std::int32_t products[max_of_sums];
    isa().products->integers({shape, as_integers(a, shape.rows * shape.terms, form.a),
                              as_integers(b, shape.terms * shape.columns, form.b), products});
    for (unsigned n = 0; n < count; ++n) sums[n] = added(form, products[n], sums[n]);
}

std::int32_t count_bits(const MatrixForm& form, const Factors& f, unsigned i, unsigned j) {
    std::int32_t sum = 0;
    for (unsigned s = 0; s < f.a.columns; ++s) {
        const std::uint64_t x = f.a.at(i, s), y = f.b.at(s, j);
        sum += __builtin_popcountll(form.bit_and ? x & y : x ^ y);
    }
    return sum;
}

void multiply_integers(const MatrixForm& form, const Factors& f, const Elements& c, Elements& d) {
    const unsigned terms = f.a.columns;
    thread_local std::vector<std::int32_t> a, column, b;
    a.resize(f.a.bits.size());
    column.resize(terms);
    b.resize(f.b.bits.size());
    for (std::size_t n = 0; n < a.size(); ++n) a[n] = integer(f.a.bits[n], form.a);
    for (unsigned s = 0; s < f.b.rows; ++s)
        for (unsigned j = 0; j < f.b.columns; ++j)
            b[std::size_t{j} * f.b.rows + s] = integer(f.b.at(s, j), form.b);
    for (unsigned i = 0; i < d.rows; ++i)
        for (unsigned j = 0; j < d.columns; ++j) {
            const std::int32_t* line = &b[std::size_t{j} * f.b.rows];
            if (!f.chosen.empty()) {
                for (unsigned s = 0; s < terms; ++s) column[s] = line[f.row_of_b(i, s)];
                line = column.data();
            }
            const std::int32_t product = form.a == Element::b1
                                             ? count_bits(form, f, i, j)
                                             : dot(&a[std::size_t{i} * terms], line, terms);
            d.at(i, j) = added(form, product, static_cast<std::uint32_t>(c.at(i, j)));
        }
}

}  // namespace

bool multiply_words(const MatrixForm& form, const TileShape& shape, std::uint32_t* a,
                    std::uint32_t* b, std::uint32_t* sums) {
    if (form.d == Element::s32) {
        if (form.a == Element::b1) return false;
        multiply_integer_words(form, shape, a, b, sums);
        return true;
    }
    return form.d != Element::f64 && multiply_float_words(form, shape, a, b, sums);
}

bool multiply_words(const MatrixForm& form, const TileShape& shape, const std::uint64_t* a,
                    const std::uint64_t* b, std::uint64_t* sums) {
    const bool nearest = form.round == ptx::Round::none || form.round == ptx::Round::rn;
    return nearest && isa().products->doubles({shape, a, b, sums});
}

MatrixProduct& MatrixProduct::of_thread() {
    thread_local MatrixProduct one;
    return one;
}

void multiply_matrices(const MatrixForm& form, const Factors& factors, const Elements& c,
                       Elements& d) {
    d.resize(c.rows, c.columns);
    if (form.d == Element::s32)
        multiply_integers(form, factors, c, d);
    else if (form.d == Element::f64)
        multiply_doubles(form, factors, c, d);
    else
        multiply_floats(form, factors, c, d);
}

}  // namespace cupola::cpu::interpreter
