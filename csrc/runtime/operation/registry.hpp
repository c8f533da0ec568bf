// csrc/runtime/operation/registry.hpp - operations by name, for callers that have no handle.
#pragma once

#include <string>
#include <string_view>

#include "runtime/operation/operation.hpp"

namespace cupola {

// Keeps the operation for the rest of the process. Throws where another operation has the name.
void register_operation(const std::string& name, Ref<Operation> operation);
// Throws where there is none.
Operation& registered_operation(std::string_view name);

}  // namespace cupola
