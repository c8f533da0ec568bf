// csrc/runtime/array/operation.hpp - numbered elementwise operations, and their kernels.
#pragma once

#include <array>

#include "cupola/elementwise.h"
#include "kernels/array/arguments.h"
#include "kernels/array/elements.h"
#include "kernels/array/operations.h"
#include "runtime/array/array_kernels.hpp"

namespace cupola {

// Classes of operations, in the order of their numbers.
enum Class { arithmetic, predicate, function, classes };
constexpr int per_class = 256;

inline Class class_of(int operation) { return static_cast<Class>(operation / per_class); }

// For each type code, the name in kernel names ("f32"), and the size in bytes.
extern const char* const element_names[elements::count];
constexpr int element_sizes[elements::count] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 8, 16};

// Throws CUPOLA_ERROR_TYPE where the type has no kernel for the operation.
void require_kernel(int operation, int element);
// The number of the operation of that name that computes in the type; -1 where there is none.
int operation_number(const char* name, int element);
// The name in a row of the table; null after the last row.
const char* operation_name(int index);

// The set of kinds (operations.h) for which each operation has a kernel.
extern const std::array<unsigned char, classes * per_class> operation_kinds;
// The number of operands of a predicate, by its number within the class.
#define CUPOLA_ROW(name, operands, kinds) operands,
constexpr int predicate_operands[] = {CUPOLA_PREDICATES(CUPOLA_ROW)};
#undef CUPOLA_ROW
constexpr unsigned char element_kinds[elements::count] = {0, 8, 1, 1, 1, 1, 1, 1,
                                                          1, 1, 2, 2, 2, 4, 4};
inline bool has_element(int kinds, int element) {
    return static_cast<unsigned>(element) < elements::count && (kinds & element_kinds[element]);
}
inline bool is_done(int operation, int element) {
    return static_cast<unsigned>(operation) < operation_kinds.size() &&
           has_element(operation_kinds[static_cast<std::size_t>(operation)], element);
}
// The result type of an operation that computes in `element`.
int result_of(int operation, int element);

// The kernel of a class, form and type; for the mixed form `element` is the computed type. With
// `no_wait`, null where its code is not loaded yet: loading may wait for the device and for other
// threads.
enum class Form { flat, strided, mixed };
Kernel* shared_kernel(Context& context, Form form, Class which, int element, bool no_wait = false);
// The kernel that casts small contiguous elements; `element` is the computed type.
Kernel* cast_kernel(Context& context, int element);
// The kernel of one function.
Kernel* function_kernel(Context& context, int operation, int element, bool no_wait = false);

}  // namespace cupola
