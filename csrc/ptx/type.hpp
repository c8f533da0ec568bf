// csrc/ptx/type.hpp - the fundamental types and state spaces of PTX.
#pragma once

#include <cstdint>
#include <string_view>

namespace cupola::ptx {

enum class Type : std::uint8_t {
    none,
    u8,
    u16,
    u32,
    u64,
    s8,
    s16,
    s32,
    s64,
    b8,
    b16,
    b32,
    b64,
    b128,
    f16,
    f16x2,
    bf16,
    bf16x2,
    tf32,
    e4m3,
    e5m2,
    e4m3x2,
    e2m1x2,
    e2m3x2,
    e3m2x2,
    ue8m0x2,
    s2f6x2,
    e4m3x4,
    e5m2x4,
    e2m3x4,
    e3m2x4,
    f32x2,
    e5m2x2,
    f32,
    f64,
    u16x2,
    s16x2,
    u8x4,
    s8x4,
    pred,
};

// `shared` is the window of the thread's block, `cluster_shared` the window of all blocks of its
// cluster. `entry_param` is the kernel's parameters, also when a function reads them.
enum class Space : std::uint8_t {
    generic,
    global,
    shared,
    local,
    constant,
    param,
    cluster_shared,
    entry_param
};

constexpr unsigned bytes_of(Type t) {
    switch (t) {
        case Type::u8:
        case Type::s8:
        case Type::b8:
        case Type::e4m3:
        case Type::e5m2:
        case Type::e2m1x2:
            return 1;
        case Type::u16:
        case Type::s16:
        case Type::b16:
        case Type::f16:
        case Type::bf16:
        case Type::e4m3x2:
        case Type::e5m2x2:
        case Type::e2m3x2:
        case Type::e3m2x2:
        case Type::ue8m0x2:
        case Type::s2f6x2:
            return 2;
        case Type::u32:
        case Type::s32:
        case Type::b32:
        case Type::f32:
        case Type::f16x2:
        case Type::bf16x2:
        case Type::tf32:
        case Type::e4m3x4:
        case Type::e5m2x4:
        case Type::e2m3x4:
        case Type::e3m2x4:
        case Type::u16x2:
        case Type::s16x2:
        case Type::u8x4:
        case Type::s8x4:
            return 4;
        case Type::u64:
        case Type::s64:
        case Type::b64:
        case Type::f64:
        case Type::f32x2:
            return 8;
        case Type::b128:
            return 16;
        case Type::pred:
        case Type::none:
            break;
    }
    return 0;
}

constexpr bool is_signed(Type t) {
    return t == Type::s8 || t == Type::s16 || t == Type::s32 || t == Type::s64;
}
constexpr bool is_bits(Type t) { return t >= Type::b8 && t <= Type::b128; }
constexpr bool is_integer(Type t) { return t >= Type::u8 && t <= Type::s64; }
constexpr bool is_float(Type t) { return t >= Type::f16 && t <= Type::f64; }

// The integer type of twice the width; Type::none if there is none.
constexpr Type doubled(Type type) {
    switch (type) {
        case Type::u16:
            return Type::u32;
        case Type::s16:
            return Type::s32;
        case Type::u32:
            return Type::u64;
        case Type::s32:
            return Type::s64;
        default:
            return Type::none;
    }
}

// The type of a word such as "f32", without the dot; Type::none if it is not a type.
Type type_named(std::string_view word);
std::string_view name_of(Type type);

}  // namespace cupola::ptx
