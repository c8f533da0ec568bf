// csrc/kernels/array/elements.h - the element types of arrays.
//
// Plain C++, for both sides of a launch: device code, and the runtime that launches it.
#pragma once

// ELEMENT(name, code, type computed in)
//
// `name` is part of kernel names, and the host passes `code`. An operation loads its operands into
// the computation type, and rounds or wraps the result when it is stored. NumPy does the same for
// float16, and integers wrap equally for every width of the computation.
#define CUPOLA_ELEMENTS(ELEMENT) \
    ELEMENT(b8, 1, i32)          \
    ELEMENT(i8, 2, i32)          \
    ELEMENT(i16, 3, i32)         \
    ELEMENT(i32, 4, i32)         \
    ELEMENT(i64, 5, i64)         \
    ELEMENT(u8, 6, i32)          \
    ELEMENT(u16, 7, i32)         \
    ELEMENT(u32, 8, u32)         \
    ELEMENT(u64, 9, u64)         \
    ELEMENT(f16, 10, f32)        \
    ELEMENT(f32, 11, f32)        \
    ELEMENT(f64, 12, f64)        \
    ELEMENT(c64, 13, c64)        \
    ELEMENT(c128, 14, c128)

namespace cupola::elements {

enum Element : int {
    none = 0,
#define CUPOLA_ROW(name, code, computed) name = code,
    CUPOLA_ELEMENTS(CUPOLA_ROW)
#undef CUPOLA_ROW
        count = 15
};

constexpr Element computed_in(int element) {
    switch (element) {
#define CUPOLA_ROW(name, code, computed) \
    case name:                           \
        return computed;
        CUPOLA_ELEMENTS(CUPOLA_ROW)
#undef CUPOLA_ROW
        default:
            return none;
    }
}

}  // namespace cupola::elements
