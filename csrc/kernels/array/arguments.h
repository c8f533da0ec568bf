// csrc/kernels/array/arguments.h - arguments that the runtime passes to the array kernels.
#pragma once

#include "../divisor.h"

namespace cupola::arrays {

constexpr unsigned threads = 256;  // in a block: full occupancy on every shipped architecture

// Which operand is a scalar, passed by value and equal for all elements. Operations with one
// operand use second_scalar, but predicates of flat kernels use one_operand.
enum Form : int { both_arrays = 0, second_scalar = 1, first_scalar = 2, one_operand = 3 };

// Contiguous elements, `count` in each array.
struct Flat {
    unsigned long long out, x, y, count;
    unsigned long long scalar[2];  // in the computation type
    int operation, form;
};

// A thread of the flat kernel loads packs of 16 bytes. It loads two packs if it reads one operand
// and writes smaller results, because the memory requests in flight limit the speed. With results
// as large as the operand, two packs cost 4 % on an H200.
constexpr unsigned flat_pack(unsigned size) { return 16 / size; }
constexpr unsigned flat_packs(bool single, unsigned size, unsigned result) {
    return single && result < size ? 2 : 1;
}

constexpr int most_axes = 8, few_axes = 5;

// Strided elements of one type. A stride along an axis is less than 2^31 bytes.
struct Strided {
    unsigned long long out, x, y, scalar[2];
    unsigned count;  // less than 2^31
    int operation, form, axes;
    Divisor lengths[few_axes];  // lengths of the axes, the innermost first
    int out_steps[few_axes], x_steps[few_axes], y_steps[few_axes];  // bytes
};

constexpr int strided_at_once = 4;  // elements of a thread in the strided kernel

// Elements of a thread in a mixed kernel, limited by registers; a pack has at most mixed_pack
// bytes.
constexpr int mixed_at_once(unsigned size) { return size == 16 ? 2 : 4; }
constexpr int mixed_pack = 32;
// Elements of a thread in a cast kernel, which have at most cast_bytes bytes each before and after.
constexpr int cast_at_once = 8, cast_bytes = mixed_pack / cast_at_once;

// Elements of a thread in a function kernel: 16 bytes of them. Complex functions are not
// memory-bound and take one.
constexpr unsigned function_at_once(unsigned size, bool is_complex) {
    return is_complex ? 1 : 16 / size;
}

struct Operand {
    unsigned long long address;
    long long strides[most_axes];  // bytes, the innermost axis first
    int element, size;             // the type's code in elements.h; the scalar has none
};

// Strided elements of any types. Loads convert an operand to the computation type.
struct Mixed {
    unsigned long long count, scalar[2];  // if there are axes, count is less than 2^31
    int operation, axes;
    int is_line;                 // one axis, with strides below 2^31 bytes
    int is_packed;               // elements are contiguous and loaded in packs
    Divisor lengths[most_axes];  // lengths of the axes, the innermost first
    Operand out, x, y;
};

}  // namespace cupola::arrays
