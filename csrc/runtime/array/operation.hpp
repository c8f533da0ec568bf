// csrc/runtime/array/operation.hpp - operations on elements by number, and the kernels that do
// them.
#pragma once

#include <array>

#include "cupola/elementwise.h"
#include "kernels/array/arguments.h"
#include "kernels/array/elements.h"
#include "kernels/array/operations.h"
#include "runtime/array/array_kernels.hpp"

namespace cupola {

// Classes of operations, in the order of their numbers: each has this many.
enum Class { arithmetic, predicate, function, classes };
constexpr int per_class = 256;

inline Class class_of(int operation) { return static_cast<Class>(operation / per_class); }

// "f32", as the kernels' names have it, and bytes; by a type's code.
extern const char* const element_names[elements::count];
constexpr int element_sizes[elements::count] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 8, 16};

// Throws CUPOLA_ERROR_TYPE where no kernel does the operation in the type.
void require_kernel(int operation, int element);
// The number of the operation that has the name and is done in the type; -1 where there is none.
int operation_number(const char* name, int element);
// The name in a row of the table; null behind the last one.
const char* operation_name(int index);

// The sets of kinds (operations.h) that each operation is done in.
extern const std::array<unsigned char, classes * per_class> operation_kinds;
// How many operands a predicate has, by its number within the class.
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
// The type of what it gives, done in a type.
int result_of(int operation, int element);

// The kernel of one class, form and type; of the mixed form that which is computed in. With
// `at_once` null where its code has yet to be loaded, which may wait for the device, and for other
// threads.
enum class Form { flat, strided, mixed };
Kernel* shared_kernel(Context& context, Form form, Class which, int element, bool at_once = false);
// That of one function.
Kernel* function_kernel(Context& context, int operation, int element, bool at_once = false);

}  // namespace cupola
