// csrc/cpu/interpreter/matrix_float.cpp - matrix products of floats, rounded as on sm_90.
//
// The manual leaves the order of additions and their rounding open. The rules here come from
// recorded results of an H200 (tests/ptx/record_matrix.py). Products are exact. A group of terms
// and the sum so far are shifted to their largest exponent and cut off some bits below it. They are
// then added as integers, and the sum is rounded once: toward zero to f32, to nearest to f16.
//
// sm_120 computes products with .kind, and no recording of it exists. This file adds all their
// terms and C in one group, with the widths of the other products.
//
// sm_90 has no matrix unit for 8-bit floats in mma and for m8n8k4 of f16. Its compiler uses other
// instructions there, and this file computes as they do.
#include <cmath>
#include <cstring>

#include "cpu/interpreter/host_isa.hpp"
#include "cpu/interpreter/matrix.hpp"
#include "cpu/interpreter/matrix_number.hpp"

namespace cupola::cpu::interpreter {
namespace {

using ptx::Element;
using ptx::MatrixForm;
using ptx::MatrixKind;

Number unpack(std::uint64_t bits, Element e) { return Unpacker(e)(bits); }

// value * 2^-by, truncated toward zero.
std::int64_t shifted(std::int64_t value, int by) {
    const std::int64_t sign = value >> 63;
    const std::int64_t magnitude = (value ^ sign) - sign;
    return ((magnitude >> (by > 63 ? 63 : by)) ^ sign) - sign;
}

constexpr unsigned max_terms = 96;

// How an instruction adds its terms.
struct Scheme {
    unsigned group;       // terms added at a time
    int kept;             // bits kept below the largest exponent
    bool halves = false;  // two sums of alternating pairs of terms; C is added last
};

Scheme scheme_of(const MatrixForm& form) {
    if (form.has_kind) return {max_terms, 25};
    if (form.kind == MatrixKind::MultiplyColumns) return {form.k, 25};
    if (bits_of(form.a) == 8)
        return form.kind == MatrixKind::MultiplyGroup ? Scheme{32, 13} : Scheme{16, 25, true};
    if (form.kind == MatrixKind::MultiplyWhole && form.a == Element::tf32) return {4, 25};
    return {256 / bits_of(form.a), 25};
}

// Accumulates one element of D, of type `d`.
class Sum {
  public:
    Sum(const Scheme& scheme, Element d, int fraction)
        : scheme_(scheme), fraction_(fraction), d_(d), layout_(layout_of(d)) {}

    // The sum so far is divided by 2 to the power of `halvings`.
    void begin(std::uint64_t bits, Element as, unsigned halvings = 0) {
        sum_ = unpack(bits, as);
        if (sum_.mantissa != 0) sum_.exponent -= static_cast<std::int32_t>(halvings);
        sum_bits_ = layout_of(as).mantissa;
        if (as == Element::f16 && d_ == Element::f32) sum_ = normalised(sum_, layout_of(as));
        top_ = sum_.exponent < -126 ? -126 : sum_.exponent;
        count_ = 0;
        infinities_ = 0;
        nan_ = sum_.kind == Number::Kind::nan;
        if (sum_.kind == Number::Kind::infinite) note_infinity(sum_.mantissa < 0);
    }

    void add(const Number& a, const Number& b) {
        const std::int32_t exponent = a.exponent + b.exponent;
        terms_[count_] = std::int64_t{a.mantissa} * b.mantissa;
        exponents_[count_++] = exponent;
        top_ = exponent > top_ ? exponent : top_;
    }

    // Handles a product with an infinite or NaN factor.
    void add_special(const Number& a, const Number& b) {
        using Kind = Number::Kind;
        if (a.kind == Kind::finite && b.kind == Kind::finite)
            add(a, b);
        else if (a.kind == Kind::nan || b.kind == Kind::nan || a.mantissa == 0 || b.mantissa == 0)
            nan_ = true;
        else
            note_infinity((a.mantissa < 0) != (b.mantissa < 0));
    }

    std::uint64_t finish() const {
        const std::uint64_t all = (std::uint64_t{1} << (layout_.exponent + layout_.mantissa)) - 1;
        if (nan_ || infinities_ == 3) return all;
        if (infinities_ != 0)
            return std::uint64_t{infinities_ == 2} << (layout_.exponent + layout_.mantissa) |
                   all >> layout_.mantissa << layout_.mantissa;
        // Terms have twenty bits more than the result keeps, so that one shift truncates.
        constexpr int room = 20;
        std::int64_t total = 0;
        for (unsigned n = 0; n < count_; ++n)
            total += shifted(terms_[n] * (std::int64_t{1} << (scheme_.kept + room - fraction_)),
                             top_ - exponents_[n] + room);
        total += shifted(sum_.mantissa * (std::int64_t{1} << (scheme_.kept + room - sum_bits_)),
                         top_ - sum_.exponent + room);
        const bool negative = total < 0;
        const auto magnitude = static_cast<std::uint64_t>(negative ? -total : total);
        const int exponent = top_ - scheme_.kept;
        if (scheme_.kept < 23 && d_ == Element::f32)  // drops the bits below the bits that are kept
            return pack(negative, magnitude, exponent, {8, scheme_.kept}, false)
                   << (23 - scheme_.kept);
        return pack(negative, magnitude, exponent, layout_, d_ == Element::f16);
    }

  private:
    void note_infinity(bool negative) { infinities_ |= negative ? 2u : 1u; }

    const Scheme scheme_;
    const int fraction_;  // bits of a product after the point
    const Element d_;
    const FloatLayout layout_;
    Number sum_;
    int sum_bits_ = 0;
    std::int32_t top_ = 0;
    unsigned infinities_ = 0;  // 1: positive infinities, 2: negative ones
    bool nan_ = false;
    std::int64_t terms_[max_terms];
    std::int32_t exponents_[max_terms];
    unsigned count_ = 0;
};

float as_float(std::uint64_t bits, Element e) {
    if (e != Element::f32) {
        const FloatLayout l = layout_of(e);
        const Number x = unpack(bits, e);
        const float sign = bits >> (l.exponent + l.mantissa) & 1 ? -1.0f : 1.0f;
        if (x.kind == Number::Kind::nan) return NAN;
        if (x.kind == Number::Kind::infinite) return sign * INFINITY;
        if (x.mantissa == 0) return sign * 0.0f;
        return std::ldexp(static_cast<float>(x.mantissa), x.exponent - l.mantissa);
    }
    const auto low = static_cast<std::uint32_t>(bits);
    float x;
    std::memcpy(&x, &low, sizeof x);
    return x;
}

// The bits of a float, rounded to nearest where D is narrower.
std::uint64_t as_bits(float x, Element e) {
    std::uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    const FloatLayout l = layout_of(e);
    if (std::isnan(x)) return (std::uint64_t{1} << (l.exponent + l.mantissa)) - 1;
    if (e == Element::f32) return bits;
    const bool negative = bits >> 31 != 0;
    const std::uint64_t sign = std::uint64_t{negative} << (l.exponent + l.mantissa);
    if (std::isinf(x)) return sign | ((1u << l.exponent) - 1) << l.mantissa;
    const Number n = unpack(bits, Element::f32);
    const auto magnitude = static_cast<std::uint64_t>(negative ? -n.mantissa : n.mantissa);
    return sign | pack(false, magnitude, n.exponent - 23, l, true);
}

// f16 factors and an f32 sum: the product is exact, and 53 bits suffice for one rounding.
float fused(float a, float b, float c) {
    return static_cast<float>(static_cast<double>(a) * b + c);
}

// m8n8k4 of f16, by f32 multiply-adds; the four products are stacked by rows.
void multiply_quad(const MatrixForm& form, const Factors& f, const Elements& c, Elements& d) {
    for (unsigned i = 0; i < d.rows; ++i)
        for (unsigned j = 0; j < d.columns; ++j) {
            float a[4], b[4];
            for (unsigned s = 0; s < 4; ++s) {
                a[s] = as_float(f.a.at(i, s), form.a);
                b[s] = as_float(f.b.at(i / 8 * 4 + s, j), form.b);
            }
            const float addend = as_float(c.at(i, j), form.c);
            float sum = 0;
            if (form.d == Element::f32) {
                for (unsigned s = 0; s < 4; ++s) sum = fused(a[s], b[s], sum);
                sum += addend;
            } else {
                sum = addend + fused(a[1], b[1], a[0] * b[0]) + fused(a[3], b[3], a[2] * b[2]);
            }
            d.at(i, j) = as_bits(sum, form.d);
        }
}

struct Numbers {
    std::vector<Number> of;
    std::vector<bool> special;  // lines with a value that is not finite
};

// Rows of A or columns of B, one after another.
void unpack_lines(const Elements& from, bool columns, Element e, bool as_f16, Numbers& out) {
    const unsigned lines = columns ? from.columns : from.rows;
    const unsigned terms = columns ? from.rows : from.columns;
    const Unpacker unpacked(e);
    const FloatLayout layout = layout_of(e);
    const bool normal = as_f16 && e == Element::e4m3;
    out.of.clear();
    out.special.assign(lines, false);
    for (unsigned line = 0; line < lines; ++line)
        for (unsigned s = 0; s < terms; ++s) {
            Number x = unpacked(columns ? from.at(s, line) : from.at(line, s));
            // In f16, the denormals of e4m3 are normal, those of e5m2 are not.
            if (normal) x = normalised(x, layout);
            if (x.kind != Number::Kind::finite) out.special[line] = true;
            out.of.push_back(x);
        }
}

// Multiplies each number by the scale factor of its chunk. ue4m3 has a mantissa of four bits, as
// e4m3 without sign; ue8m0 is an exponent, or NaN.
void scale(const MatrixForm& form, const std::vector<std::uint8_t>& scales, Numbers& numbers) {
    const std::size_t chunk = numbers.of.size() / scales.size();
    const std::size_t line = chunk * form.scales;
    for (std::size_t n = 0; n < numbers.of.size(); ++n) {
        const std::uint8_t bits = scales[n / chunk];
        Number factor{1, bits - 127};
        if (form.scale_e4m3)
            factor = unpack(bits & 0x7fu, Element::e4m3);
        else if (bits == 0xff)
            factor.kind = Number::Kind::nan;
        Number& x = numbers.of[n];
        if (factor.kind == Number::Kind::nan) {
            x.kind = factor.kind;
            numbers.special[n / line] = true;
        }
        x.mantissa *= factor.mantissa;
        x.exponent = x.mantissa == 0 ? lowest_exponent : x.exponent + factor.exponent;
    }
}

}  // namespace

bool multiply_float_words(const MatrixForm& form, const TileShape& shape, const std::uint32_t* a,
                          const std::uint32_t* b, std::uint32_t* sums) {
    const bool short_factors =
        form.a == Element::f16 || form.a == Element::bf16 || form.a == Element::tf32;
    const bool in_f32 = form.c == Element::f32 || form.d == Element::f32;
    if (form.quads() || !short_factors || !in_f32 || form.halvings != 0) return false;
    const unsigned count = shape.rows * shape.columns;
    const auto convert = [&](Element from, Element to) {
        for (unsigned n = 0; n < count && from != to; ++n)
            sums[n] = static_cast<std::uint32_t>(as_bits(as_float(sums[n], from), to));
    };
    convert(form.c, Element::f32);
    if (!isa().products->floats({shape, layout_of(form.a), scheme_of(form).group, a, b, sums}))
        return false;
    convert(Element::f32, form.d);
    return true;
}

void multiply_floats(const MatrixForm& form, const Factors& f, const Elements& c, Elements& d) {
    if (form.quads()) return multiply_quad(form, f, c, d);
    const Scheme scheme = scheme_of(form);
    thread_local Numbers a, b;
    unpack_lines(f.a, false, form.a, scheme.halves, a);
    unpack_lines(f.b, true, form.b, scheme.halves, b);
    int fraction = layout_of(form.a).mantissa + layout_of(form.b).mantissa;
    if (form.scales != 0) {
        scale(form, f.scales_a, a);
        scale(form, f.scales_b, b);
        if (form.scale_e4m3) fraction += 2 * layout_of(Element::e4m3).mantissa;
    }
    // An f32 C is accumulated in f32; a narrower D is rounded once more.
    const Element d_type = form.c == Element::f32 ? form.c : form.d;
    Sum sum(scheme, d_type, fraction);
    const unsigned terms = f.a.columns;
    for (unsigned i = 0; i < d.rows; ++i)
        for (unsigned j = 0; j < d.columns; ++j) {
            const Number* x = &a.of[std::size_t{i} * terms];
            const Number* y = &b.of[std::size_t{j} * f.b.rows];
            const bool special = a.special[i] || b.special[j];
            const auto add = [&](unsigned s) {
                const Number& other = y[f.row_of_b(i, s)];
                special ? sum.add_special(x[s], other) : sum.add(x[s], other);
            };
            if (scheme.halves) {
                std::uint64_t made = 0;
                for (unsigned half = 0; half < 2; ++half) {
                    sum.begin(made, form.d);
                    for (unsigned s = 2 * half; s < terms; s += 4) {
                        add(s);
                        add(s + 1);
                    }
                    made = sum.finish();
                }
                d.at(i, j) = as_bits(as_float(c.at(i, j), form.c) + as_float(made, form.d), form.d);
                continue;
            }
            std::uint64_t made = c.at(i, j);
            for (unsigned from = 0; from < terms; from += scheme.group) {
                sum.begin(made, from == 0 ? form.c : d_type, from == 0 ? form.halvings : 0);
                for (unsigned s = from; s < from + scheme.group && s < terms; ++s) add(s);
                made = sum.finish();
            }
            d.at(i, j) = d_type == form.d ? made : as_bits(as_float(made, d_type), form.d);
        }
}

}  // namespace cupola::cpu::interpreter
