// csrc/ptx/modifiers.hpp - the modifiers of an instruction (.rn, .ftz, .global, ...) packed into
// one 64-bit word, which works at run time and as a template argument.
#pragma once

#include <cstdint>
#include <string_view>

namespace cupola::ptx {

using Bits = std::uint64_t;

struct Field {
    std::uint8_t shift, width;
    constexpr Bits put(unsigned value) const { return static_cast<Bits>(value) << shift; }
    constexpr unsigned get(Bits bits) const {
        return static_cast<unsigned>(bits >> shift) & ((1u << width) - 1);
    }
};

namespace field {
inline constexpr Field none{0, 0}, ftz{0, 1}, sat{1, 1}, round{2, 4}, compare{6, 5}, boolean{11, 2},
    space{13, 3}, vector{16, 4}, operation{20, 5}, order{25, 3}, scope{28, 3}, mode{31, 4},
    nan{35, 1}, xorsign{36, 1}, relu{37, 1}, part{38, 2}, aligned{40, 1}, negate{41, 1},
    magnitude{42, 1}, satfinite{62, 1}, cache_hint{63, 1};
}

enum class Round : std::uint8_t { none, rn, rz, rm, rp, rni, rzi, rmi, rpi, rna, rs };
enum class Compare : std::uint8_t {
    eq,
    ne,
    lt,
    le,
    gt,
    ge,
    lo,
    ls,
    hi,
    hs,
    equ,
    neu,
    ltu,
    leu,
    gtu,
    geu,
    num,
    nan,
};
enum class Boolean : std::uint8_t { none, and_, or_, xor_ };
enum class Order : std::uint8_t { weak, volatile_, relaxed, acquire, release, acq_rel, sc };
enum class Scope : std::uint8_t { none, cta, cluster, gpu, sys };
enum class Atomic : std::uint8_t { add, min, max, inc, dec, and_, or_, xor_, exch, cas };
enum class Mode : std::uint8_t {
    none,
    up,
    down,
    bfly,
    idx,
    all,
    any,
    uni,
    ballot,
    wrap,
    clamp,
    left,
    right,
    popc
};
enum class TestP : std::uint8_t { finite, infinite, number, notanumber, normal, subnormal };
enum class Permute : std::uint8_t { none, f4e, b4e, rc8, ecl, ecr, rc16 };
enum class Part : std::uint8_t { none, lo, hi, wide };
// The coordinates of a texture or surface: their number and meaning. Stored in `mode`.
enum class Geometry : std::uint8_t { none, d1, d2, d3, a1, a2, cube, acube };
// The effect of surface coordinates that are out of bounds. Stored in `boolean`.
enum class Outside : std::uint8_t { none, trap, clamp, zero };
// How a tensor copy finds elements of the tensor. Stored in `mode`. `rows`: gather4 and scatter4.
enum class TensorMode : std::uint8_t { tile, im2col, rows, im2col_w, im2col_w_128 };
// The property that txq or suq returns. Stored in `operation`.
enum class Query : std::uint8_t {
    width,
    height,
    depth,
    channel_data_type,
    channel_order,
    normalized_coords,
    array_size,
    num_mipmap_levels,
    num_samples,
    filter_mode,
    addr_mode_0,
    addr_mode_1,
    addr_mode_2,
    force_unnormalized_coords,
    memory_layout,
};

constexpr bool asks_sampler(Query q) {
    return q >= Query::filter_mode && q <= Query::force_unnormalized_coords;
}

constexpr bool is_layered(Geometry g) {
    return g == Geometry::a1 || g == Geometry::a2 || g == Geometry::acube;
}
constexpr bool is_cube(Geometry g) { return g == Geometry::cube || g == Geometry::acube; }
// The number of coordinates without the layer.
constexpr unsigned axes_of(Geometry g) {
    return g == Geometry::d1 || g == Geometry::a1   ? 1
           : g == Geometry::d2 || g == Geometry::a2 ? 2
                                                    : 3;
}
// Vectors have 1, 2 or 4 elements, so three coordinates are written as four.
constexpr unsigned written_coordinates(Geometry g) {
    const unsigned count = axes_of(g) + (is_layered(g) ? 1 : 0);
    return count == 3 ? 4 : count;
}

// One position in an instruction's list of modifiers, and its possible spellings.
struct ModifierSlot {
    struct Choice {
        std::string_view text;
        std::uint8_t value;
    };
    Field field;
    bool optional;
    bool fixed;     // a template argument of the row's handler; otherwise read at decoding
    bool trailing;  // written after the types
    Choice choices[32];
    std::uint8_t count;

    constexpr bool rounds() const { return field.shift == field::round.shift; }
};

template <class... C>
constexpr ModifierSlot slot(Field field, bool optional, bool fixed, bool trailing, C... choices) {
    return {field, optional, fixed, trailing, {choices...}, sizeof...(C)};
}

}  // namespace cupola::ptx
