// csrc/ptx/type.cpp - names of the fundamental types.
#include "ptx/type.hpp"

namespace cupola::ptx {

namespace {
constexpr std::string_view names[] = {
    "none",   "u8",      "u16",    "u32",    "u64",    "s8",     "s16",    "s32",
    "s64",    "b8",      "b16",    "b32",    "b64",    "b128",   "f16",    "f16x2",
    "bf16",   "bf16x2",  "tf32",   "e4m3",   "e5m2",   "e4m3x2", "e2m1x2", "e2m3x2",
    "e3m2x2", "ue8m0x2", "s2f6x2", "e4m3x4", "e5m2x4", "e2m3x4", "e3m2x4", "f32x2",
    "e5m2x2", "f32",     "f64",    "u16x2",  "s16x2",  "u8x4",   "s8x4",   "pred"};
}

Type type_named(std::string_view word) {
    for (unsigned i = 1; i < sizeof(names) / sizeof(names[0]); ++i)
        if (names[i] == word) return static_cast<Type>(i);
    return Type::none;
}

std::string_view name_of(Type type) { return names[static_cast<unsigned>(type)]; }

}  // namespace cupola::ptx
