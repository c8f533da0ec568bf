// csrc/kernels/array/operations.h - the elementwise operations, one row each.
//
// Plain C++, for host and device. To add an operation: a row here, and a functor of the same name
// in arithmetic.cuh, integers.cuh, predicate.cuh or function.cuh (complex_function.cuh for COMPLEX
// and BOTH). Add its name to the lists of tests/test_elementwise.py and docs/how-to/arrays.md.
#pragma once

namespace cupola::operations::kinds {

// The kinds of elements that an operation is compiled for.
constexpr int integers = 1, reals = 2, complexes = 4, booleans = 8;
constexpr int ordered = integers | reals, numbers = ordered | complexes,
              values = numbers | booleans;

}  // namespace cupola::operations::kinds

// OPERATION(name, kinds): `name` is the name of NumPy's ufunc.
//
// Short operations. All of them share one kernel for each type, which selects the operation at run
// time. Results have the type of the operands, which are numbers.
#define CUPOLA_ARITHMETIC(OPERATION)     \
    OPERATION(positive, numbers)         \
    OPERATION(add, numbers)              \
    OPERATION(subtract, numbers)         \
    OPERATION(multiply, numbers)         \
    OPERATION(divide, reals | complexes) \
    OPERATION(negative, numbers)         \
    OPERATION(absolute, ordered)         \
    OPERATION(square, numbers)           \
    OPERATION(reciprocal, numbers)       \
    OPERATION(sign, ordered)             \
    OPERATION(conjugate, numbers)        \
    OPERATION(maximum, numbers)          \
    OPERATION(minimum, numbers)          \
    OPERATION(fmax, numbers)             \
    OPERATION(fmin, numbers)             \
    OPERATION(sqrt, reals)               \
    OPERATION(floor, ordered)            \
    OPERATION(ceil, ordered)             \
    OPERATION(trunc, ordered)            \
    OPERATION(rint, reals | complexes)   \
    OPERATION(copysign, reals)           \
    OPERATION(deg2rad, reals)            \
    OPERATION(rad2deg, reals)            \
    OPERATION(bitwise_and, integers)     \
    OPERATION(bitwise_or, integers)      \
    OPERATION(bitwise_xor, integers)     \
    OPERATION(invert, integers)          \
    OPERATION(left_shift, integers)      \
    OPERATION(right_shift, integers)     \
    OPERATION(floor_divide, integers)    \
    OPERATION(remainder, integers)       \
    OPERATION(fmod, integers)            \
    OPERATION(power, integers)

// OPERATION(name, operands, kinds): the same with one or two operands and truth values as results.
#define CUPOLA_PREDICATES(OPERATION)    \
    OPERATION(positive, 1, booleans)    \
    OPERATION(equal, 2, values)         \
    OPERATION(not_equal, 2, values)     \
    OPERATION(less, 2, values)          \
    OPERATION(less_equal, 2, values)    \
    OPERATION(greater, 2, values)       \
    OPERATION(greater_equal, 2, values) \
    OPERATION(logical_and, 2, values)   \
    OPERATION(logical_or, 2, values)    \
    OPERATION(logical_xor, 2, values)   \
    OPERATION(logical_not, 1, values)   \
    OPERATION(isnan, 1, values)         \
    OPERATION(isinf, 1, values)         \
    OPERATION(isfinite, 1, values)      \
    OPERATION(signbit, 1, reals)

// SAME(name, as): on truth values, the ufunc `name` equals the operation `as`.
#define CUPOLA_OF_TRUTHS(SAME)     \
    SAME(add, logical_or)          \
    SAME(multiply, logical_and)    \
    SAME(maximum, logical_or)      \
    SAME(minimum, logical_and)     \
    SAME(fmax, logical_or)         \
    SAME(fmin, logical_and)        \
    SAME(bitwise_or, logical_or)   \
    SAME(bitwise_and, logical_and) \
    SAME(bitwise_xor, logical_xor) \
    SAME(invert, logical_not)      \
    SAME(absolute, positive)       \
    SAME(floor, positive)          \
    SAME(ceil, positive)           \
    SAME(trunc, positive)

// Long operations: each has its own kernel, named after it. REAL is for real numbers, COMPLEX for
// complex numbers, BOTH for both; operands of other types are cast first.
#define CUPOLA_FUNCTIONS(REAL, COMPLEX, BOTH) \
    BOTH(exp)                                 \
    BOTH(exp2)                                \
    BOTH(expm1)                               \
    BOTH(log)                                 \
    BOTH(log2)                                \
    BOTH(log10)                               \
    BOTH(log1p)                               \
    COMPLEX(sqrt)                             \
    REAL(cbrt)                                \
    BOTH(sin)                                 \
    BOTH(cos)                                 \
    BOTH(tan)                                 \
    BOTH(arcsin)                              \
    BOTH(arccos)                              \
    BOTH(arctan)                              \
    BOTH(sinh)                                \
    BOTH(cosh)                                \
    BOTH(tanh)                                \
    BOTH(arcsinh)                             \
    BOTH(arccosh)                             \
    BOTH(arctanh)                             \
    COMPLEX(absolute)                         \
    COMPLEX(sign)                             \
    BOTH(power)                               \
    REAL(floor_divide)                        \
    REAL(remainder)                           \
    REAL(fmod)                                \
    REAL(arctan2)                             \
    REAL(hypot)                               \
    REAL(logaddexp)                           \
    REAL(logaddexp2)

namespace cupola::operations {

// The number of an operation within its class, for host and device.
#define CUPOLA_ROW(name, kinds) name,
namespace arithmetic {
enum Operation : int { CUPOLA_ARITHMETIC(CUPOLA_ROW) count };
}
#undef CUPOLA_ROW
#define CUPOLA_ROW(name, operands, kinds) name,
namespace predicate {
enum Operation : int { CUPOLA_PREDICATES(CUPOLA_ROW) count };
}
#undef CUPOLA_ROW
namespace function {
#define CUPOLA_ROW(name) name,
enum Operation : int { CUPOLA_FUNCTIONS(CUPOLA_ROW, CUPOLA_ROW, CUPOLA_ROW) count };
#undef CUPOLA_ROW
}  // namespace function

}  // namespace cupola::operations
