// csrc/cpu/isa/matrix.cpp - products of dense tiles, 8 or 16 columns at a time.
// matrix_float.cpp states the rule for sums of floats, and has the other forms.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "cpu/isa/chapters.hpp"

namespace cupola::cpu::CUPOLA_ISA {
namespace {

using interpreter::DoubleTile;
using interpreter::FloatLayout;
using interpreter::FloatTile;
using interpreter::IntegerTile;
using interpreter::tile_columns;

// A number of columns.
template <unsigned W>
struct Columns {
    using Ints __attribute__((vector_size(W * 4))) = std::int32_t;
    using Words __attribute__((vector_size(W * 4))) = std::uint32_t;
    using Floats __attribute__((vector_size(W * 4))) = float;
    using Longs __attribute__((vector_size(W * 8))) = std::uint64_t;
    using Doubles __attribute__((vector_size(W * 8))) = double;
};

// Vectors are passed by reference. The ABI does not fix how a vector wider than the processor's is
// passed by value, and compilers warn of it.
template <class V, class T>
void load(V& to, const T* from) {
    std::memcpy(&to, from, sizeof to);
}
template <class V, class T>
void store(const V& from, T* to) {
    std::memcpy(to, &from, sizeof from);
}
template <class V>
void raise(V& a, const V& b) {
    a = a > b ? a : b;
}
template <class V>
void lower(V& a, const V& b) {
    a = a < b ? a : b;
}

constexpr std::int32_t zero_exponent = -100000;  // below the exponent of every other number
constexpr int kept = 25;                         // bits below the largest exponent of a sum
constexpr std::int32_t least = -126;             // exponent of f32

// Mantissas as whole numbers, and exponents. False: one is infinite or NaN.
bool split(const std::uint32_t* from, unsigned count, FloatLayout layout, float* mantissas,
           std::int32_t* exponents) {
    const std::int32_t top = (1 << layout.exponent) - 1, hidden = 1 << layout.mantissa;
    std::int32_t special = 0;
    for (unsigned n = 0; n < count; ++n) {
        const auto bits = static_cast<std::int32_t>(from[n] >> layout.unused);
        const std::int32_t fraction = bits & (hidden - 1), field = bits >> layout.mantissa & top;
        const std::int32_t mantissa = field == 0 ? fraction : fraction | hidden;
        const bool negative = bits >> (layout.mantissa + layout.exponent) & 1;
        mantissas[n] = static_cast<float>(negative ? -mantissa : mantissa);
        exponents[n] = mantissa == 0 ? zero_exponent : (field == 0 ? 1 : field) - (top >> 1);
        special |= field == top;
    }
    return special == 0;
}

// Adds the terms of one group to a sum, which is bits of f32. The terms and the sum are shifted to
// the largest exponent, cut off `kept` bits below it, and added; the result is cut off.
template <unsigned W>
void add_group(typename Columns<W>::Ints& c, unsigned count, int fraction, const float* a,
               const std::int32_t* a_exponents, const float* b, const std::int32_t* b_exponents,
               unsigned columns) {
    using Ints = typename Columns<W>::Ints;
    using Words = typename Columns<W>::Words;
    using Floats = typename Columns<W>::Floats;
    using Longs = typename Columns<W>::Longs;
    using Doubles = typename Columns<W>::Doubles;
    const Ints sign = c >> 31, field = c >> 23 & 255, part = c & 0x7fffff;
    Ints exponent = field;
    raise<Ints>(exponent, Ints{} + 1);
    exponent -= 127;
    Ints top = exponent, other;
    for (unsigned s = 0; s < count; ++s) {
        load(other, b_exponents + s * columns);
        raise<Ints>(top, other + a_exponents[s]);
    }
    Ints sum = {};
    const Ints base = (kept - fraction + 127) - top;
    for (unsigned s = 0; s < count; ++s) {
        load(other, b_exponents + s * columns);
        // A power of two, or 0 for a term that is cut off as a whole.
        Ints scale = base + other + a_exponents[s];
        raise<Ints>(scale, Ints{});
        scale <<= 23;
        Floats term;
        load(term, b + s * columns);
        term = term * a[s] * Floats(scale);
        sum += __builtin_convertvector(term, Ints);  // toward zero
    }
    Ints distance = top - exponent;
    lower<Ints>(distance, Ints{} + 31);
    const Ints whole = field == 0 ? part : part | 0x800000;
    const Ints shifted = whole << (kept - 23) >> distance;
    // The sum has up to 33 bits, which a double has.
    const Doubles total = __builtin_convertvector(sum, Doubles) +
                          __builtin_convertvector((shifted ^ sign) - sign, Doubles);
    const auto bits = Longs(total);
    const auto high = Ints(__builtin_convertvector(bits >> 29, Words));
    const Ints made_sign = Ints(__builtin_convertvector(bits >> 32, Words)) & INT32_MIN;
    const Ints length = ((high >> 23 & 511) + 1) & 511;  // the sum's length in bits, less one
    const Ints made_part = high & 0x7fffff, made = length + top - kept;
    Ints result = made_part | (made + 127) << 23;
    result = made > 127 ? Ints{} + 0x7f800000 : result;
    Ints drop = least - made;
    raise<Ints>(drop, Ints{});
    lower<Ints>(drop, Ints{} + 31);
    result = made < least ? (made_part | 0x800000) >> drop : result;
    result = high == 0 ? Ints{} : result;
    result = result == 0 ? result : result | made_sign;
    // An infinite intermediate sum stays infinite, and a NaN becomes the canonical NaN.
    const Ints stays = part == 0 ? c : Ints{} + 0x7fffffff;
    c = field == 255 ? stays : result;
}

bool multiply_floats(const FloatTile& tile) {
    const unsigned rows = tile.shape.rows, columns = tile.shape.columns, terms = tile.shape.terms;
    alignas(64) float a[interpreter::max_of_a], b[interpreter::max_of_b];
    alignas(64) std::int32_t a_exponents[interpreter::max_of_a], b_exponents[interpreter::max_of_b];
    if (!split(tile.a, rows * terms, tile.layout, a, a_exponents) ||
        !split(tile.b, terms * columns, tile.layout, b, b_exponents))
        return false;
    const auto run = [&](auto width) {
        constexpr unsigned W = decltype(width)::value;
        for (unsigned j = 0; j < columns; j += W)
            for (unsigned i = 0; i < rows; ++i) {
                std::uint32_t* const to = tile.sums + i * columns + j;
                typename Columns<W>::Ints sum;
                load(sum, to);
                for (unsigned s = 0; s < terms; s += tile.group)
                    add_group<W>(sum, std::min(tile.group, terms - s), 2 * tile.layout.mantissa,
                                 a + i * terms + s, a_exponents + i * terms + s,
                                 b + s * columns + j, b_exponents + s * columns + j, columns);
                store(sum, to);
            }
    };
    if (columns % 16 == 0)
        run(std::integral_constant<unsigned, 16>());
    else
        run(std::integral_constant<unsigned, tile_columns>());
    return true;
}

void multiply_integers(const IntegerTile& tile) {
    const auto [rows, columns, terms] = tile.shape;
    for (unsigned j = 0; j < columns; j += tile_columns)
        for (unsigned i = 0; i < rows; ++i) {
            Columns<tile_columns>::Ints sum = {}, b;
            for (unsigned s = 0; s < terms; ++s) {
                load(b, tile.b + s * columns + j);
                sum += b * tile.a[i * terms + s];
            }
            store(sum, tile.products + i * columns + j);
        }
}

bool multiply_doubles(const DoubleTile& tile) {
    const auto [rows, columns, terms] = tile.shape;
    bool well = true;
    for (unsigned j = 0; j < columns; j += tile_columns)
        for (unsigned i = 0; i < rows; ++i) {
            double sums[tile_columns], b[tile_columns], a;
            std::memcpy(sums, tile.sums + i * columns + j, sizeof sums);
            for (unsigned s = 0; s < terms; ++s) {
                std::memcpy(&a, tile.a + i * terms + s, sizeof a);
                std::memcpy(b, tile.b + s * columns + j, sizeof b);
                for (unsigned n = 0; n < tile_columns; ++n) sums[n] = std::fma(a, b[n], sums[n]);
            }
            for (const double sum : sums) well &= sum == sum;
            std::memcpy(tile.sums + i * columns + j, sums, sizeof sums);
        }
    return well;
}

}  // namespace

const interpreter::TileProducts tile_products{&multiply_floats, &multiply_integers,
                                              &multiply_doubles};

}  // namespace cupola::cpu::CUPOLA_ISA
