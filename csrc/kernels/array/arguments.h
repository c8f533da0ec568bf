// csrc/kernels/array/arguments.h - what the runtime passes to the kernels of arrays.
#pragma once

namespace cupola::arrays {

constexpr unsigned threads = 256;  // a block: full occupancy on every architecture shipped for

// Which operand is a scalar: for all elements the same, and passed by value. Operations of one
// operand have a scalar as their second one, but predicates of flat kernels none.
enum Form : int { both_arrays = 0, second_scalar = 1, first_scalar = 2, one_operand = 3 };

// Elements that follow each other, `count` in each array.
struct Flat {
    unsigned long long out, x, y, count;
    unsigned long long scalar[2];  // of the type that is computed in
    int operation, form;
};

// How many a thread of that kernel loads at once, of 16 bytes, and how often: twice where a single
// operand is all that takes memory, and hardly the result, since what is under way sets the pace.
// Where results are as long that cost 4 % on an H200.
constexpr unsigned flat_pack(unsigned size) { return 16 / size; }
constexpr unsigned flat_packs(bool single, unsigned size, unsigned result) {
    return single && result < size ? 2 : 1;
}

constexpr int most_axes = 8, few_axes = 5;

// How many times `by` goes into n < 2^31, without a division: (umulhi(n, factor) + n) >> shift.
struct Divisor {
    unsigned by, factor, shift;
};

// Elements of one type anywhere, less than 2^31 bytes from one to the next along each axis.
struct Strided {
    unsigned long long out, x, y, scalar[2];
    unsigned count;  // less than 2^31
    int operation, form, axes;
    Divisor lengths[few_axes];  // of the axes, the innermost first
    int out_steps[few_axes], x_steps[few_axes], y_steps[few_axes];  // bytes
};

constexpr int strided_at_once = 4;  // elements of a thread of that kernel

// And of a mixed one, as many as fit the registers; in packs of so many bytes at most.
constexpr int mixed_at_once(unsigned size) { return size == 16 ? 2 : 4; }
constexpr int mixed_pack = 32;

// And of one of a function: as many as 16 bytes hold, but of complex ones, whose pace is not that
// of memory, one.
constexpr unsigned function_at_once(unsigned size, bool is_complex) {
    return is_complex ? 1 : 16 / size;
}

struct Operand {
    unsigned long long address;
    long long strides[most_axes];  // bytes, the innermost axis first
    int element, size;             // elements.h; none: the scalar
};

// Elements anywhere and of any type. What an operand is of is turned into the type that is computed
// in as it is loaded.
struct Mixed {
    unsigned long long count, scalar[2];  // with axes less than 2^31
    int operation, axes;
    int is_line;                 // one axis, less than 2^31 bytes from one to the next
    int is_packed;               // and elements follow each other, which packs are loaded of
    Divisor lengths[most_axes];  // of the axes, the innermost first
    Operand out, x, y;
};

}  // namespace cupola::arrays
