// csrc/cpu/isa/types.hpp - C++ types for PTX types, and an instruction's types and modifiers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ptx/table.hpp"

namespace cupola::cpu::CUPOLA_ISA {

using ptx::Bits;
using ptx::OperandConstraint;
using ptx::Type;
namespace field = ptx::field;

struct Half {
    std::uint16_t bits;
};
struct BFloat16 {
    std::uint16_t bits;
};
template <class T>
struct Pair {
    T low, high;
};
template <class T>
struct Four {
    T part[4];
};
struct Quad {
    std::uint64_t low, high;
};

// One type of each size, for data that is only copied.
template <std::size_t N>
struct BytesOf;
template <>
struct BytesOf<1> {
    using type = std::uint8_t;
};
template <>
struct BytesOf<2> {
    using type = std::uint16_t;
};
template <>
struct BytesOf<4> {
    using type = std::uint32_t;
};
template <>
struct BytesOf<8> {
    using type = std::uint64_t;
};
template <>
struct BytesOf<16> {
    using type = Quad;
};
template <std::size_t N>
using Bytes = typename BytesOf<N>::type;

template <Type T>
struct LaneOf;
template <>
struct LaneOf<Type::u8> {
    using type = std::uint8_t;
};
template <>
struct LaneOf<Type::b8> {
    using type = std::uint8_t;
};
template <>
struct LaneOf<Type::s8> {
    using type = std::int8_t;
};
template <>
struct LaneOf<Type::u16> {
    using type = std::uint16_t;
};
template <>
struct LaneOf<Type::b16> {
    using type = std::uint16_t;
};
template <>
struct LaneOf<Type::s16> {
    using type = std::int16_t;
};
template <>
struct LaneOf<Type::u32> {
    using type = std::uint32_t;
};
template <>
struct LaneOf<Type::b32> {
    using type = std::uint32_t;
};
template <>
struct LaneOf<Type::s32> {
    using type = std::int32_t;
};
template <>
struct LaneOf<Type::u64> {
    using type = std::uint64_t;
};
template <>
struct LaneOf<Type::b64> {
    using type = std::uint64_t;
};
template <>
struct LaneOf<Type::s64> {
    using type = std::int64_t;
};
template <>
struct LaneOf<Type::b128> {
    using type = Quad;
};
template <>
struct LaneOf<Type::f32> {
    using type = float;
};
template <>
struct LaneOf<Type::f64> {
    using type = double;
};
template <>
struct LaneOf<Type::f16> {
    using type = Half;
};
template <>
struct LaneOf<Type::bf16> {
    using type = BFloat16;
};
template <>
struct LaneOf<Type::f16x2> {
    using type = Pair<Half>;
};
template <>
struct LaneOf<Type::bf16x2> {
    using type = Pair<BFloat16>;
};
template <>
struct LaneOf<Type::u16x2> {
    using type = Pair<std::uint16_t>;
};
template <>
struct LaneOf<Type::s16x2> {
    using type = Pair<std::int16_t>;
};
template <>
struct LaneOf<Type::tf32> {
    using type = std::uint32_t;
};
template <>
struct LaneOf<Type::e4m3x2> {
    using type = std::uint16_t;
};
template <>
struct LaneOf<Type::e5m2x2> {
    using type = std::uint16_t;
};
template <>
struct LaneOf<Type::e2m1x2> {
    using type = std::uint8_t;
};
template <>
struct LaneOf<Type::e2m3x2> {
    using type = std::uint16_t;
};
template <>
struct LaneOf<Type::e3m2x2> {
    using type = std::uint16_t;
};
template <>
struct LaneOf<Type::ue8m0x2> {
    using type = std::uint16_t;
};
template <>
struct LaneOf<Type::s2f6x2> {
    using type = std::uint16_t;
};
template <>
struct LaneOf<Type::e4m3x4> {
    using type = std::uint32_t;
};
template <>
struct LaneOf<Type::e5m2x4> {
    using type = std::uint32_t;
};
template <>
struct LaneOf<Type::e2m3x4> {
    using type = std::uint32_t;
};
template <>
struct LaneOf<Type::e3m2x4> {
    using type = std::uint32_t;
};
template <>
struct LaneOf<Type::f32x2> {
    using type = Pair<float>;
};
template <>
struct LaneOf<Type::u8x4> {
    using type = Four<std::uint8_t>;
};
template <>
struct LaneOf<Type::s8x4> {
    using type = Four<std::int8_t>;
};
template <Type T>
using Lane = typename LaneOf<T>::type;

template <class T>
struct Twice;
template <>
struct Twice<std::uint8_t> {
    using type = std::uint16_t;
};
template <>
struct Twice<std::int8_t> {
    using type = std::int16_t;
};
template <>
struct Twice<std::uint16_t> {
    using type = std::uint32_t;
};
template <>
struct Twice<std::int16_t> {
    using type = std::int32_t;
};
template <>
struct Twice<std::uint32_t> {
    using type = std::uint64_t;
};
template <>
struct Twice<std::int32_t> {
    using type = std::int64_t;
};
template <>
struct Twice<std::uint64_t> {
    using type = unsigned __int128;
};
template <>
struct Twice<std::int64_t> {
    using type = __int128;
};
template <class T>
using Wide = typename Twice<T>::type;

template <Type T1, Type T2, Bits B>
struct Mods {
    static constexpr Type type = T1, type2 = T2;
    static constexpr bool ftz = field::ftz.get(B), sat = field::sat.get(B), nan = field::nan.get(B),
                          xorsign = field::xorsign.get(B), relu = field::relu.get(B),
                          satfinite = field::satfinite.get(B), magnitude = field::magnitude.get(B);
    static constexpr auto round = static_cast<ptx::Round>(field::round.get(B));
    static constexpr auto compare = static_cast<ptx::Compare>(field::compare.get(B));
    static constexpr auto part = static_cast<ptx::Part>(field::part.get(B));
    static constexpr auto atomic = static_cast<ptx::Atomic>(field::operation.get(B));
    static constexpr auto mode = static_cast<ptx::Mode>(field::mode.get(B));
    static constexpr unsigned raw_mode = field::mode.get(B);
    // Whether the result may be any NaN, because no reader of the result distinguishes NaNs.
    static constexpr bool any_nan = false;
    static constexpr bool directed =
        round == ptx::Round::rz || round == ptx::Round::rm || round == ptx::Round::rp;
};

}  // namespace cupola::cpu::CUPOLA_ISA
