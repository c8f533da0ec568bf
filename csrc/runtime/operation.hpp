// csrc/runtime/operation.hpp - operations on elements by number, and the kernels that do them.
#pragma once

#include "cupola/elementwise.h"
#include "kernels/array/arguments.h"
#include "kernels/array/elements.h"
#include "kernels/array/operations.h"
#include "runtime/array_kernels.hpp"

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
// The type of what it gives, done in a type.
int result_of(int operation, int element);

// The kernel of one class, form and type; of the mixed form that which is computed in.
enum class Form { flat, strided, mixed };
Kernel& shared_kernel(Context& context, Form form, Class which, int element);
// That of one function.
Kernel& function_kernel(Context& context, int operation, int element);

}  // namespace cupola
